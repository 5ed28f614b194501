"""What leaves the laptop names nobody, and still says what it said."""

from __future__ import annotations

import pytest

from console.cli.scrub import Scrubber
from console.values.secrets import remember


def scrubber(*facts: object) -> Scrubber:
    made = Scrubber()
    for fact in facts:
        made.learn(fact)
    return made


def test_a_name_becomes_the_same_word_everywhere() -> None:
    made = scrubber({"host": "ct200", "via": ["alice@bastion.corp:2222"], "hosts": ["ct200"]})
    assert made.clean({"hosts": {"ct200": {"sentence": "ct200 via bastion.corp, as alice", "via": []}}}) == {
        "hosts": {"host-1": {"sentence": "host-1 via host-2, as user-1", "via": []}}
    }
    assert made.text("ct2000 and my-ct200 are others") == "ct2000 and my-ct200 are others"


@pytest.mark.parametrize(
    ("fact", "text", "clean"),
    [
        ({"user": "bob"}, "bob: python3", "user-1: python3"),
        ({"by": "bob@thinkpad"}, "by bob at thinkpad", "by user-1 at host-1"),
        ({"command": "/home/carol/venv/bin/python"}, "/home/carol/x", "/home/user-1/x"),
        ({"device": "nas01:/export"}, "nas01:/export", "host-1:/export"),
        ({"user": "root"}, "/root/models of root", "/root/models of root"),
        ({}, "10.1.2.200 port 22 refused", "address-1 port 22 refused"),
        ({}, "10.1.2.200:30000 and 10.1.2.200", "address-1:30000 and address-1"),
        ({}, "fe80::1ff:fe23:4567:890a", "address-1"),
        ({}, "127.0.0.1:30000, ::1", "127.0.0.1:30000, ::1"),
        (
            {},
            "at 12:41:05Z, bus 00000000:01:00.0, driver 580.95.05",
            "at 12:41:05Z, bus 00000000:01:00.0, driver 580.95.05",
        ),
    ],
)
def test_names_and_addresses_go_and_the_rest_stays(fact: object, text: str, clean: str) -> None:
    assert scrubber(fact).text(text) == clean


def test_secrets_go() -> None:
    remember("s3cret-api-key")
    assert scrubber().text("key s3cret-api-key hf_abcdefghijklmnopqrstuvwx") == "key *** hf_***uvwx"


def test_a_box_that_is_called_like_a_state_breaks_no_fact() -> None:
    made = scrubber({"host": "up"}, {"by": "/health"})
    assert made.clean({"host": "up", "state": "up"}) == {"host": "host-1", "state": "up"}
    assert made.clean({"by": "/health"}) == {"by": "/health"}


def test_numbers_stay() -> None:
    assert scrubber().clean({"a": [1, None, True, {"unknown": "x"}]}) == {"a": [1, None, True, {"unknown": "x"}]}
