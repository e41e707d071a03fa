"""Reduce the losses of an image to those that matter for its verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

Wrong = TypeVar("Wrong")

MOST_TRIES = 200
"""Limit of the checks of an image, which may be exceeded by a few."""


class Losses(Protocol):
    """Access to the losses of an image, by number: they can be restored and lost again."""

    def losses(self) -> list[int]:
        """Return the current losses, in order."""

    def restore_losses(self, numbers: list[int]) -> None:
        """Restore some of the losses in the image."""

    def undo_restore(self, numbers: list[int]) -> None:
        """Undo the last `restore_losses`."""


def reduce_losses(losses: Losses, verdict: Callable[[], Wrong | None], wrong: Wrong) -> Wrong:
    """Restore as many losses as possible while the image stays wrong; the remaining ones matter.

    `verdict` checks the current image and returns what is wrong, or None. `wrong` is its answer
    before the reduction. Returns its answer to the image with the remaining losses. The parts that
    are restored together are halved, as in delta debugging, beginning with all losses at once,
    because it may be that none matters.
    """
    lost = losses.losses()
    size, tries = 2 * len(lost), 0
    while size > 1 and tries < MOST_TRIES:
        size = (size + 1) // 2
        for first in range(0, len(lost), size):
            back = lost[first : first + size]
            losses.restore_losses(back)
            tries += 1
            if (still := verdict()) is not None:
                wrong = still
            else:
                losses.undo_restore(back)
        lost = losses.losses()
        size = min(size, len(lost))
    return wrong
