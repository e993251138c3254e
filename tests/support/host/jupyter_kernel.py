"""A real Jupyter kernel in a folder of a test: cells are run in it as a notebook runs them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from cli_process import environment
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

CELL_SECONDS = 120


class Kernel:
    """Runs one cell at a time.

    Attributes:
        said: all that the cells have written to their standard output.
    """

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self._manager = manager
        self._client = client
        self.said = ""

    def run(self, source: str, *, interrupt_at: str = "") -> str:
        """The last value's text, or the error as the notebook shows it.

        Args:
            interrupt_at: the cell is interrupted once it has written that.
        """
        asked, shown = self._client.execute(source), ""
        while (message := self._next(asked))["msg_type"] != "status":
            content = message["content"]
            match message["msg_type"]:
                case "stream":
                    self.said += content["text"]
                    if interrupt_at and interrupt_at in content["text"]:
                        interrupt_at = ""  # once: what is written may come twice where it is interrupted
                        self._manager.interrupt_kernel()
                case "execute_result":
                    shown = content["data"]["text/plain"]
                case "error":
                    shown = "\n".join(content["traceback"])
                case "display_data":
                    raise AssertionError(f"the cell displays what nobody asked for: {content['data']}")
        return shown

    def _next(self, asked: str) -> dict:
        """The next message of a cell; its `status` is the end."""
        while True:
            message = self._client.get_iopub_msg(timeout=CELL_SECONDS)
            begins = message["content"].get("execution_state") == "busy"
            if message["parent_header"].get("msg_id") == asked and not begins:
                return message


@contextlib.contextmanager
def kernel_in(folder: Path) -> Iterator[Kernel]:
    """Start a kernel whose working directory is `folder`."""
    manager = KernelManager(kernel_name="python3", transport="ipc", ip=str(folder / "kernel"))
    variables = environment(IPYTHONDIR=str(folder / "ipython"))
    manager.start_kernel(cwd=str(folder), env=variables)
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=CELL_SECONDS)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
