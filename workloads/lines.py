"""An error that a user's code raised, in one line, behind the place in that code."""

from traceback import walk_tb

MOST_CHARACTERS = 500
"""Most characters of an error's own message."""


def locate_error(error: BaseException, *, folder: str) -> str:
    """An error, behind the last line of the code in `folder` that led to it."""
    message = str(error.msg) if isinstance(error, SyntaxError) else format_message(error)
    return f"{find_place(error, folder=folder)}{': '.join(filter(None, (type(error).__name__, message)))}"


def find_place(error: BaseException, *, folder: str) -> str:
    """The last line of the code in `folder` that led to an error; empty where none did."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        lines.append((str(error.filename), error.lineno or 0))
    places = [f"{file}, line {line}: " for file, line in lines if is_in(folder, file)]
    return places[-1] if places else ""


def is_in(folder: str, file: str) -> bool:
    """Return whether a code file lies in that folder or below it."""
    return file.startswith(f"{folder.rstrip('/')}/")


def format_message(error: BaseException) -> str:
    """Return the first line of an error's message; for a user's error that may raise, or never end."""
    return cut_message(error).strip().partition("\n")[0][:MOST_CHARACTERS]


def cut_message(error: BaseException) -> str:
    """Return an error's message, cut to a few lines."""
    try:
        text = str(error)
        return str.__getitem__(text, slice(0, 10 * MOST_CHARACTERS))  # a text of a class of the user's own
    except BaseException as broken:  # noqa: BLE001  a user's `__str__` raises anything
        return f"its __str__ raised {type(broken).__name__}"


def shown(text: str) -> str:
    """A text of unknown origin, short, and with escapes for what a terminal would obey."""
    text = text if len(text) <= 4 * MOST_CHARACTERS else f"{text[: 4 * MOST_CHARACTERS]} …"
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
