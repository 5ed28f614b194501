"""The architectures that the stand-in says it serves."""


class Qwen3ForCausalLM:
    def set_dflash_layers_to_capture(self, layers: list[int]) -> None:
        """Its hidden states can feed a drafter."""

    def set_eagle3_layers_to_capture(self, layers: list[int]) -> None:
        """Its hidden states can feed a drafter."""


class Qwen3MoeForCausalLM(Qwen3ForCausalLM):
    pass


class LlamaForCausalLM(Qwen3ForCausalLM):
    pass


class DeepseekV3ForCausalLM(Qwen3ForCausalLM):
    pass


class KimiK25ForConditionalGeneration(DeepseekV3ForCausalLM):
    pass


class DFlashDraftModel:
    pass


EntryClass = [
    Qwen3ForCausalLM,
    Qwen3MoeForCausalLM,
    LlamaForCausalLM,
    DeepseekV3ForCausalLM,
    KimiK25ForConditionalGeneration,
    DFlashDraftModel,
]
