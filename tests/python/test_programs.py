"""Running other programs."""

import signal
import subprocess
from typing import Any

import pytest

from pmemsim.programs import run_program


@pytest.mark.parametrize("timeout_s", [None, 100.0])
def test_an_interrupt_while_a_program_is_started_ends_it(
    monkeypatch: pytest.MonkeyPatch, timeout_s: float | None
) -> None:
    started = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **options: Any) -> None:  # noqa: ANN401
            super().__init__(command, **options)
            if command == ["sleep", "100"]:
                started.append(self)
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_program(["sleep", "100"], None, timeout_s=timeout_s)
    assert [process.returncode for process in started] in ([-signal.SIGINT], [-signal.SIGKILL])
