"""Access checks of a launcher's cluster: tokens, ports, secrets, images. Pure."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from orchestrator.core.pool import ACCOUNT_RULES, Catalogue, Provider
from orchestrator.extensions.cluster_files.checks.finding import (
    Finding,
    FindingLines,
    JsonObject,
    listed,
    mapping,
    sequence,
)

_STARTS = ("head_start_ray_commands", "worker_start_ray_commands")
_OPEN = re.compile(r"--dashboard-host[= ](0\.0\.0\.0|::|\*)")
_PUBLISHED = re.compile(r"(?:^|\s)(-p|--publish|-P|--publish-all)(?:[ =]|$)")
_OPENING_TAGS = {"http-server", "https-server", "lb-health-check"}
_SECRET = re.compile(
    r"(?i)(RAY_AUTH_TOKEN|PASSWORD|SECRET_ACCESS_KEY|SECRET_KEY|API_KEY|PRIVATE_KEY)\s*=\s*[^\s$;]"
)
_IMAGE = re.compile(
    r"[a-z0-9][-._a-z0-9]*(:[0-9]+)?(/[a-z0-9][-._a-z0-9]*)*(:[\w][-.\w]{0,127})?(@sha256:[0-9a-f]{64})?",
    re.ASCII,
)
_WORD = re.compile(r"[a-zA-Z_][-.\w]*", re.ASCII)
"""Names of containers and users."""
_CREDENTIALS = re.compile(r"://[^/\s:@]+:[^/\s@$]+@|-----BEGIN [A-Z ]*PRIVATE KEY-----")


def check_access(config: JsonObject, _catalogue: Catalogue) -> FindingLines:
    """Findings of tokens, ports and secrets."""
    yield from _token(config)
    yield from _ports(config)
    yield from secrets(config)


def secrets(config: JsonObject) -> FindingLines:
    """A finding for each text that looks like a secret, and each variable of such a name with a value."""
    for key, text in chain(iterate_texts(config), _variables_in(config)):
        if _SECRET.search(text) or _CREDENTIALS.search(text):
            yield Finding(
                key=key, message="holds a secret; name a file or a variable of the environment instead"
            )


def check_images(config: JsonObject, _catalogue: Catalogue) -> FindingLines:
    """A finding for each container image that may be another one tomorrow."""
    docker = mapping(config["docker"])
    for key in ("image", "head_image", "worker_image"):
        if key in docker:
            yield from check_image(f"docker.{key}", docker[key])
    if not {"image", "head_image"} & docker.keys():
        yield Finding(key="docker.image", message="is missing; the head would run without one of our images")
    for name, node_type in config["available_node_types"].items():
        own = mapping(mapping(node_type).get("docker"))
        if "worker_image" in own:
            yield from check_image(f"available_node_types.{name}.docker.worker_image", own["worker_image"])


def check_words(config: JsonObject, _catalogue: Catalogue) -> FindingLines:
    """A finding for each name that Ray's launcher puts into shell commands as it is."""
    for top, name in (("docker", "container_name"), ("auth", "ssh_user")):
        word = mapping(config.get(top)).get(name)
        if word is not None and not _WORD.fullmatch(str(word)):
            yield Finding(key=f"{top}.{name}", message=f"{word!r} must be letters, digits and -_.")


def check_account(key: str, account: object, provider: Provider) -> FindingLines:
    """A finding for what cannot be a service account of the provider."""
    rule, example = ACCOUNT_RULES[provider]
    if not rule.fullmatch(str(account)):
        yield Finding(key=key, message=f"{account!r} is not an account; write it like {example}")


def check_image(key: str, image: object) -> FindingLines:
    """A finding unless the image has a name that no shell changes, and is pinned."""
    if _IMAGE.fullmatch(str(image)):
        yield from unpinned(key, image)
    else:
        yield Finding(
            key=key, message=f"{image!r} is not the name of an image; write it like HOST/FOLDER/NAME:0.1.0"
        )


def unpinned(key: str, image: object) -> FindingLines:
    """A finding unless the image has a tag, other than latest, or a digest."""
    tag = re.search(r"@sha256:[0-9a-f]{64}$|:([\w.-]+)$", str(image))
    if not tag or tag[1] == "latest" or "/" in (tag[1] or ""):
        yield Finding(key=key, message=f"{image!r} is not pinned; give it a tag, as :0.1.0, or @sha256:…")


def iterate_texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a file, with its dotted key."""
    if isinstance(value, str):
        yield key, value
    for name, inner in _items(value):
        yield from iterate_texts(inner, f"{key}.{name}" if key else str(name))


def _variables_in(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every `name: NAME, value: VALUE` in a file as `NAME=VALUE`, with the dotted key of its value."""
    if isinstance(value, dict) and "name" in value and "value" in value:
        yield f"{key}.value", f"{value['name']}={value['value']}"
    for name, inner in _items(value):
        yield from _variables_in(inner, f"{key}.{name}" if key else str(name))


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    """Keys and values of a mapping, numbers and values of a list."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _token(config: JsonObject) -> FindingLines:
    for key in _STARTS:
        if "RAY_AUTH_MODE=token" not in " ".join(map(str, sequence(config.get(key)))):
            yield Finding(
                key=key,
                message="does not set RAY_AUTH_MODE=token; who reaches the cluster could run anything on it",
            )
    mounts = mapping(config.get("file_mounts"))
    if not any(str(remote).endswith(".ray/auth_token") for remote in mounts):
        yield Finding(
            key="file_mounts",
            message="brings no token to the nodes; add ~/.ray/auth_token: ~/.ray/auth_token",
        )


def _ports(config: JsonObject) -> FindingLines:
    for key, text in iterate_texts({start: config.get(start) for start in _STARTS}):
        if match := _OPEN.search(text):
            yield Finding(key=key, message=f"{match[0]} opens the dashboard to the network; use 127.0.0.1")
    options = {
        "docker": config.get("docker"),
        "available_node_types": {
            name: {"docker": mapping(node).get("docker")}
            for name, node in config["available_node_types"].items()
        },
    }
    for key, text in iterate_texts(options):
        if "run_options" in key and _PUBLISHED.search(text):
            yield Finding(key=key, message=f"{text!r} publishes a port; reach the head through ray dashboard")
    for name, node in config["available_node_types"].items():
        yield from _tags(f"available_node_types.{name}.node_config.tags", mapping(node))


def _tags(key: str, node_type: JsonObject) -> FindingLines:
    tags = mapping(node_type.get("node_config")).get("tags")
    named = set(map(str, sequence(mapping(tags).get("items")) or sequence(tags)))
    if opening := named & _OPENING_TAGS:
        yield Finding(key=key, message=f"{listed(opening)} opens a port to the world; take it out")
