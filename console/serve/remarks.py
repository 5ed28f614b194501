"""What a started server deserves a remark for: limits that nobody asked for, pools that differ from the plan."""

from __future__ import annotations

from console.serve.story import Story

DEVIATION = 0.10
LEAST_GIB = 0.05  # SGLang prints two digits of what others move meanwhile


def remarks(story: Story, planned: dict[str, float] | None = None) -> tuple[str, ...]:
    """One sentence each. `planned`: the names of `actuals` as the plan said, per GPU; absent ones are skipped."""
    said: list[str] = []
    if story.spec_cap is not None:
        said.append(
            f"speculative decoding capped the running requests at {story.spec_cap}: set max-running-requests to lift it"
        )
    limits = story.limits
    tokens, context = limits.get("max_total_num_tokens"), limits.get("context_len")
    if isinstance(tokens, int) and isinstance(context, int) and tokens < context:
        said.append(f"the KV pool holds {tokens} tokens, less than one context of {context}: raise mem-fraction-static")
    if story.retractions:
        said.append(f"the KV pool was full {story.retractions} times: requests were retracted and computed again")
    said += _deviations(story, planned or {})
    return tuple(said)


def actuals(story: Story) -> dict[str, float]:
    """Measured per GPU, of the first rank that printed it: tokens, weights_gb, draft_gb, kv_gb, draft_kv_gb (GiB)."""
    found: dict[str, float] = {}
    for span in story.spans:
        if span.step == "weights" and span.used_gb is not None:
            found.setdefault("draft_gb" if span.draft else "weights_gb", span.used_gb)
    for pool in story.pools:
        if not pool.draft:
            found.setdefault("tokens", float(pool.tokens))
        if pool.size_gb is not None:
            found.setdefault("draft_kv_gb" if pool.draft else "kv_gb", pool.size_gb)
    return found


def _deviations(story: Story, planned: dict[str, float]) -> list[str]:
    said = []
    for name, measured in actuals(story).items():
        plan = planned.get(name)
        in_gib = name.endswith("_gb")
        if plan and abs(measured - plan) > max(plan * DEVIATION, LEAST_GIB * in_gib):
            share, form = (measured - plan) / plan, ",.2f" if in_gib else ",.0f"
            unit = " GiB" if in_gib else ""
            what = name.removesuffix("_gb")
            said.append(f"{what}: {measured:{form}}{unit} measured, {plan:{form}}{unit} planned ({share:+.0%})")
    return said
