"""The access gate: may the content of a repository be read by this box, and if not, who must do what.

The state comes from the box (`console/payloads/hub/classify.py`); here it gets its sentence. Metadata that answers
proves nothing: `listing_only` never passes.
"""

from __future__ import annotations

import re
from typing import Literal, get_args
from urllib.parse import urlsplit

import msgspec

from console.events.hub import Access, AccessChecked
from console.gates.gate import Gate
from console.values import Unknown, format_duration, known

Actor = Literal["none", "nobody", "operator", "repo_owner", "console"]
Retry = Literal["not_needed", "after_action", "backoff", "after_seconds", "never"]

HUB = "https://huggingface.co"
ACCESS_STATES = frozenset(get_args(Access))
PERMISSION = "Read access to contents of all public gated repos you can access"
_WHOLE = "Name a directory with config, tokenizer and every shard, or a repository id to download."
_HOW = "T on screen, or `gpudeck token HOST set`"
_SET = f"Set a token: {_HOW}."
_REPO_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What a state means: one sentence, who acts, what they do, and when asking again makes sense."""

    actor: Actor
    action: str
    retry: Retry
    sentence: str
    way_out: tuple[str, ...] = ()


def repo_id_problem(text: str) -> str:
    """Why a text is no repository id, as a sentence with the id that may be meant; empty when it is one."""
    if _REPO_ID.fullmatch(text) and len(text) <= 96 and ".." not in text and "--" not in text:
        return ""
    parts = [part for part in urlsplit(text).path.split("/") if part] if "://" in text else []
    if len(parts) >= 2 and _REPO_ID.fullmatch("/".join(parts[:2])):
        return f"{text!r} is a URL, not a repository id: did you mean {'/'.join(parts[:2])}?"
    return f"{text!r} is no repository id: it must look like owner/name."


def page_of(fact: AccessChecked) -> str:
    """The page on which access to the repository is asked for: of the Hub that the box asked."""
    return f"{_hub(fact)}/{fact.repo}"


def _hub(fact: AccessChecked) -> str:
    return fact.endpoint.rstrip("/") or HUB


def advise(fact: AccessChecked) -> Advice:
    """The sentence of a state, with the names that the reader needs to act."""
    if fact.access.startswith("unreachable_"):
        return _unreachable(fact)
    actor, action, retry = _TABLE[fact.access]
    return Advice(actor=actor, action=action, retry=retry, sentence=_said(fact), way_out=_ways_out(fact))


_TABLE: dict[Access, tuple[Actor, str, Retry]] = {
    "ready": ("none", "none", "not_needed"),
    "local": ("none", "none", "not_needed"),
    "listing_only": ("console", "probe_content", "after_action"),
    "login_required": ("operator", "log_in", "after_action"),
    "request_needed": ("operator", "request_access", "after_action"),
    "request_pending": ("repo_owner", "wait_for_owner", "backoff"),
    "request_rejected": ("operator", "choose_other_repo", "never"),
    "gated_other": ("operator", "read_server_text", "after_action"),
    "token_scope": ("operator", "edit_token_permission", "after_action"),
    "forbidden_other": ("operator", "read_server_text", "after_action"),
    "missing_or_private": ("operator", "check_id_or_log_in", "after_action"),
    "not_visible_to_user": ("operator", "check_id_or_account", "after_action"),
    "token_missing": ("operator", "provide_token", "after_action"),
    "token_malformed": ("operator", "clean_token", "after_action"),
    "token_invalid": ("operator", "replace_token", "after_action"),
    "revision_missing": ("operator", "choose_revision", "after_action"),
    "file_missing": ("operator", "choose_file", "after_action"),
    "disabled": ("operator", "choose_other_repo", "never"),
    "rate_limited": ("nobody", "wait", "after_seconds"),
    "hub_error": ("nobody", "wait", "backoff"),
    "offline_mode": ("operator", "unset_offline", "after_action"),
    "endpoint_bad": ("operator", "fix_endpoint", "after_action"),
    "unknown": ("operator", "show_raw_error", "after_action"),
}


def _said(fact: AccessChecked) -> str:
    repo, who = fact.repo, fact.who if known(fact.who) else "the token's owner"
    limit = f" for {format_duration(fact.retry_after_s)}" if known(fact.retry_after_s) else ""
    status = f" ({fact.status})" if known(fact.status) else ""
    sentences: dict[str, str] = {
        "ready": f"{repo}: its content answers at {_short(fact.commit)}.",
        "local": f"{repo} is a directory of the box.",
        "listing_only": f"{repo}: only its listing answered, its content was not asked for.",
        "login_required": f"{repo} is gated, and the box is not logged in.",
        "request_needed": f"{repo} is gated, and {who} has not asked for access.",
        "request_pending": f"{repo}: the request of {who} waits for the repository's owner.",
        "request_rejected": f"{repo}: the request of {who} was rejected by the repository's owner.",
        "gated_other": f"{repo} is gated. The Hub says: {fact.text}",
        "token_scope": f"{repo}: the fine-grained token of {who} may not read gated repositories.",
        "forbidden_other": f"{repo} is forbidden. The Hub says: {fact.text}",
        "missing_or_private": f"{repo} does not exist, or is private, or needs a login: no token, no telling.",
        "not_visible_to_user": f"{repo} does not exist for {who}; a private repository looks the same.",
        "token_missing": f"{repo} needs a token, and the box has none.",
        "token_malformed": f"The token{_from(fact)} cannot be sent: it holds line breaks, spaces or quotes.",
        "token_invalid": f"The Hub rejects the token{_from(fact)}; with a bad one not even public repositories answer.",
        "revision_missing": f"{repo} has no revision {fact.revision}.",
        "file_missing": f"{repo} has no file {fact.probe}.",
        "disabled": f"{repo} is disabled on the Hub.",
        "rate_limited": f"{repo}: the Hub limits the rate{limit}.",
        "hub_error": f"{repo}: the Hub fails{status}.",
        "offline_mode": "HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE) is set on the box: the Hub is not asked.",
        "endpoint_bad": f"HF_ENDPOINT ({fact.endpoint}) does not answer as a Hub: {fact.text}",
        "unknown": f"{repo}: {fact.error}: {fact.text}",
    }
    return sentences[fact.access]


def _short(commit: str | Unknown) -> str:
    return commit[:7] if known(commit) else "an unknown commit"


def _from(fact: AccessChecked) -> str:
    if fact.token_source.startswith("env:"):
        return f" of {fact.token_source[4:]}"
    return " in the token file" if fact.token_source == "file" else ""


def _ways_out(fact: AccessChecked) -> tuple[str, ...]:
    who = f"as {fact.who} " if known(fact.who) else ""
    mirrored = "" if _hub(fact) == HUB else f" (if that is a mirror: {HUB}/{fact.repo})"
    accept = f"Open {page_of(fact)} {who}and accept the conditions{mirrored}, then check again (r on screen)."
    ways: dict[str, tuple[str, ...]] = {
        "login_required": (_SET, accept),
        "request_needed": (accept,),
        "request_pending": ("Wait: the console asks again by itself.", "Ask the owner on the repository's page."),
        "request_rejected": ("Choose another repository.",),
        "gated_other": (f"Open {page_of(fact)}.",),
        "token_scope": (f"In the token's settings tick “{PERMISSION}”: {_hub(fact)}/settings/tokens.",),
        "missing_or_private": ("Check the id.", _SET),
        "not_visible_to_user": ("Check the id.", f"Use the token of an account that may see it: {_HOW}."),
        "token_missing": (_SET,),
        "token_malformed": (f"Set it again, one line without quotes: {_HOW}.",),
        "token_invalid": (_replace_token(fact),),
        "revision_missing": ("Choose another revision.",),
        "file_missing": (_WHOLE,) if fact.repo.startswith("/") else ("Choose another file or revision.",),
        "disabled": ("Choose another repository.",),
        "offline_mode": ("Remove the variable from the box's environment.",),
        "endpoint_bad": ("Correct HF_ENDPOINT: https:// and a host that serves the Hub's headers.",),
    }
    return ways.get(fact.access, ())


def _replace_token(fact: AccessChecked) -> str:
    if fact.token_source.startswith("env:"):
        return f"Correct {fact.token_source[4:]} in the box's environment: it beats the token file."
    return f"Set a new token: {_HOW}."


def _unreachable(fact: AccessChecked) -> Advice:
    host = urlsplit(fact.endpoint).hostname or fact.endpoint
    who = "This laptop" if fact.origin == "laptop" else "The box"
    why = {
        "unreachable_dns": f"{who} cannot resolve {host}.",
        "unreachable_refused": f"{host} refuses the connection.",
        "unreachable_proxy": f"The proxy of {fact.proxy or who.lower()} does not let {who.lower()} reach {host}.",
        "unreachable_tls": f"{who} does not trust the TLS connection to {host}: {fact.text}",
        "unreachable_timeout": f"{host} did not answer in time.",
        "unreachable_no_route": f"{who} has no route to {host}.",
    }
    proxy = f" {fact.proxy} is set." if fact.proxy and fact.access != "unreachable_proxy" else ""
    way = "Set HTTPS_PROXY or HF_ENDPOINT in hosts.NAME.env, then check again (r on screen)."
    if fact.origin == "laptop":
        way = "Install huggingface_hub on the box, so that the box is asked, or let this laptop reach the Hub."
    return Advice(
        actor="operator",
        action="fix_network",
        retry="backoff" if fact.access == "unreachable_timeout" else "after_action",
        sentence=why[fact.access] + proxy,
        way_out=(way,),
    )


def access_gate(fact: AccessChecked) -> Gate:
    """Passes only on proved content. A failing Hub or network blocks, too: nothing can be downloaded."""
    advice = advise(fact)
    verdict: Literal["pass", "block", "unknown"] = "block"
    if fact.access in ("ready", "local"):
        verdict = "pass"
    elif fact.access in ("unknown", "listing_only"):
        verdict = "unknown"
    marked = " (asked from this laptop, not from the box)" if fact.origin == "laptop" else ""
    return Gate(
        name="access",
        verdict=verdict,
        state=fact.access,
        subject=fact.repo,
        sentence=advice.sentence + marked,
        way_out=advice.way_out,
        numbers={"status": fact.status, "retry_after_s": fact.retry_after_s},
    )
