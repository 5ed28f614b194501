"""What lies on the demo's Hub: small models with true shapes, one of them gated, and the tokens that open them."""

from __future__ import annotations

from collections.abc import Mapping

from console.demo.hub import FakeHub, User, model_files

MIB = 1 << 20
TOKEN = "hf_" + "demo" * 8 + "Open"  # demo-user, who has not asked for the gated drafter
READER_TOKEN = "hf_" + "demo" * 8 + "Read"  # demo-reader, whose request was accepted
TARGET, DRAFT = "demo/Qwen3-Demo", "demo/Qwen3-Demo-DFlash"

CONFIG: Mapping[str, object] = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 28, "hidden_size": 2048,
    "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
    "intermediate_size": 6144, "max_position_embeddings": 40960, "torch_dtype": "bfloat16",
    "tie_word_embeddings": True,
}  # fmt: skip
DRAFT_CONFIG: Mapping[str, object] = {
    **CONFIG, "architectures": ["DFlashDraftModel"], "num_hidden_layers": 4, "num_target_layers": 28, "block_size": 8,
    "dflash_config": {"mask_token_id": 4, "target_layer_ids": [1, 9, 17, 25]},
}  # fmt: skip


def fill(hub: FakeHub) -> None:
    """Put the models and the demo's users on the Hub."""
    hub.tokens |= {TOKEN: User("demo-user"), READER_TOKEN: User("demo-reader")}
    hub.add(TARGET, model_files(8, 4 * MIB, config=CONFIG))
    drafter = model_files(1, 2 * MIB, seed=2, config=DRAFT_CONFIG)
    hub.add(DRAFT, drafter, gate="auto", standings={"demo-reader": "accepted"})
