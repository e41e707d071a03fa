"""The remaining losses of an image are as few as leave it wrong."""

from __future__ import annotations

import random

import pytest

from pmemsim.reduction import MOST_TRIES, reduce_losses

pytestmark = pytest.mark.quick


class Image:
    """An image that is wrong while it has lost everything that matters."""

    def __init__(self, lost: int, matter: set[int]) -> None:
        self._lost = list(range(lost))
        self._matter = matter
        self.checks = 0

    def losses(self) -> list[int]:
        return list(self._lost)

    def restore_losses(self, numbers: list[int]) -> None:
        self._lost = [number for number in self._lost if number not in numbers]

    def undo_restore(self, numbers: list[int]) -> None:
        self._lost = sorted({*self._lost, *numbers})

    def verdict(self) -> list[int] | None:
        self.checks += 1
        return self.losses() if self._matter <= set(self._lost) else None


@pytest.mark.parametrize("seed", range(20))
def test_reduction_keeps_only_losses_that_matter(seed: int) -> None:
    lost = random.Random(seed).randrange(1, 40)
    matter = set(random.Random(seed).sample(range(lost), min(lost, 3)))
    image = Image(lost, matter)
    assert reduce_losses(image, image.verdict, image.losses()) == sorted(matter)
    assert image.losses() == sorted(matter)


def test_reduction_restores_all_losses_if_none_matters() -> None:
    image = Image(100, set())
    assert reduce_losses(image, image.verdict, image.losses()) == []
    assert image.checks == 1, "all at once first"


def test_an_image_that_lost_nothing_is_not_checked() -> None:
    image = Image(0, set())
    assert reduce_losses(image, image.verdict, [1]) == [1]
    assert image.checks == 0


@pytest.mark.long
def test_reduction_limits_the_number_of_checks() -> None:
    image = Image(10_000, set(range(0, 10_000, 2)))
    reduce_losses(image, image.verdict, image.losses())
    assert MOST_TRIES <= image.checks < 3 * MOST_TRIES
