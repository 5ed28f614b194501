"""From an outcome to one state, the same for every generation of the library.

Decides by class *names*, the status, `X-Error-Code` and the server's text of the first member of the cause chain
that has a response, in the order that was measured to classify every generation. Never by the words "gated" or
"private": they stand in the text of a repository that does not exist, too.
"""

from __future__ import annotations

import re
from typing import Any

RETURNED_EARLY = "Returning existing local_dir"
_HEADER_ERRORS = ("LocalProtocolError", "InvalidHeader", "UnicodeEncodeError")
_ENDPOINT_ERRORS = ("UnsupportedProtocol", "MissingSchema", "FileMetadataError")
_DNS = ("name or service not known", "name resolution", "nodename nor servname", "failed to resolve")
_STATUS = re.compile(r"\b(4\d\d|5\d\d) (?:Client|Server|Too|Forbidden|Unauthorized|Not)|'(4\d\d|5\d\d) ")
_LIMIT = re.compile(r"\bt=(\d+)")


def classify(outcome: dict[str, Any], token: dict[str, Any], proxy: bool, call: str) -> dict[str, Any]:
    """`{"state", "status", "text", "retry_after_s"}` of a repository.

    `token`: `sent` and `length` of the token that went along; `proxy`: a proxy variable is set; `call`: the
    name of the library's function, since `model_info` proves a listing and no content.
    """
    early = RETURNED_EARLY in (outcome.get("log") or "")
    if "exception" not in outcome and not early:
        return _state("listing_only" if call == "model_info" else "ready")
    if early:
        return _from_log(outcome["log"], token, proxy)
    members = [outcome["exception"], *outcome.get("causes", [])]
    local = _before_any_answer(members, token)
    if local:
        return _state(local, members[-1])
    answered = next((member for member in members if member.get("status")), None)
    if answered:
        return _from_answer(answered, token)
    text = " ".join(str(member.get("message")) for member in members)
    names = [name for member in members for name in member["mro"]]
    unreachable = _unreachable(text, names, proxy)
    return _state(unreachable or "unknown", members[-1])


def _state(name: str, member: dict[str, Any] | None = None, status: int | None = None) -> dict[str, Any]:
    state: dict[str, Any] = {"state": name, "status": status, "text": "", "class": "", "retry_after_s": None}
    if member:
        said = member.get("server_message") or member.get("error_message") or member.get("message") or ""
        state.update({"status": member.get("status"), "text": said, "class": member["class"]})
        limit = _LIMIT.search(member.get("ratelimit") or "")
        seconds = limit.group(1) if limit else member.get("retry_after") or ""
        state["retry_after_s"] = int(seconds) if seconds.isdigit() else None
    return state


def _before_any_answer(members: list[dict[str, Any]], token: dict[str, Any]) -> str:
    """The states that the client reaches without the Hub's word."""
    names = [name for member in members for name in member["mro"]]
    if "LocalTokenNotFoundError" in names:
        return "token_missing"
    if any(name in names for name in _HEADER_ERRORS):
        return "token_malformed" if token["length"] else "token_missing"
    if "OfflineModeIsEnabled" in names:
        return "offline_mode"
    if any(name in names for name in _ENDPOINT_ERRORS):
        return "endpoint_bad"
    return ""


def _from_answer(member: dict[str, Any], token: dict[str, Any]) -> dict[str, Any]:
    status, code = member["status"], member.get("error_code")
    text = member.get("server_message") or member.get("error_message") or ""
    if code == "GatedRepo" or "GatedRepoError" in member["mro"]:
        return _state(_gated(status, text), member)
    if code == "RevisionNotFound":
        return _state("revision_missing", member)
    if code == "EntryNotFound":
        return _state("file_missing", member)
    return _state(_by_status(status, text, token), member)


def _gated(status: int, text: str) -> str:
    if status == 401:
        return "login_required"
    for words, state in (
        ("not in the authorized list", "request_needed"),
        ("awaiting a review", "request_pending"),
        ("rejected", "request_rejected"),
    ):
        if words in text:
            return state
    return "gated_other"


def _by_status(status: int, text: str, token: dict[str, Any]) -> str:
    """A 401 although a token was sent is a token problem, whatever the class says."""
    if status == 401:
        if not token["sent"]:
            return "missing_or_private"
        return "token_invalid" if token["length"] else "token_missing"
    if status == 403:
        if "Access to this resource is disabled" in text:
            return "disabled"
        return "token_scope" if "fine-grained token settings" in text else "forbidden_other"
    if status == 404:
        return "not_visible_to_user" if token["sent"] else "missing_or_private"
    if status == 429:
        return "rate_limited"
    return "hub_error" if status >= 500 else "unknown"


def _unreachable(text: str, names: list[str], proxy: bool) -> str:
    lower = text.lower()
    refused = "connection refused" in lower
    if any(words in lower for words in _DNS):
        return "unreachable_dns"
    if "ProxyError" in names or "proxyerror" in lower or (refused and proxy):
        return "unreachable_proxy"
    if "[ssl" in lower or "sslerror" in lower or "SSLError" in names:
        return "unreachable_tls"
    if refused:
        return "unreachable_refused"
    if "no route" in lower or "network is unreachable" in lower:
        return "unreachable_no_route"
    if "timed out" in lower or any("Timeout" in name for name in names):
        return "unreachable_timeout"
    return ""


def _from_log(log: str, token: dict[str, Any], proxy: bool) -> dict[str, Any]:
    """The library returned a path, and its log says that it could not ask: the brackets hold the reason."""
    reason = log[log.index(RETURNED_EARLY) :]
    member: dict[str, Any] = {"class": "", "message": reason, "mro": [], "status": None}
    if "offline mode is enabled" in reason:
        return _state("offline_mode", member)
    unreachable = _unreachable(reason, [], proxy)
    if unreachable:
        return _state(unreachable, member)
    if "Invalid credentials" in reason:
        return _state("token_invalid", member)
    match = _STATUS.search(reason)
    if not match:
        return _state("unknown", member)
    status = int(match.group(1) or match.group(2))
    answered = dict(member, status=status)
    if "GatedRepo" in reason or "Cannot access gated repo" in reason:
        return _state(_gated(status, reason), answered)
    if "Revision Not Found" in reason:
        return _state("revision_missing", answered)
    return _state(_by_status(status, reason, token), answered)
