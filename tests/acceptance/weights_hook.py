"""Tells what loading each model of SGLang took, as `sitecustomize` of the server's interpreter.

For each model without a checkpoint (`load-format = "dummy"`) a file CLASS-PID.json in `ACCEPTANCE_WEIGHTS`: bytes of
every parameter and buffer, and what PyTorch's allocator and the GPU had less afterwards. Nothing else is changed.
"""

import importlib.abc
import importlib.util
import json
import os
import sys

LOADER = "sglang.srt.model_loader.loader"


def told(load, self, **given):
    import torch

    def gpu():
        torch.cuda.synchronize()
        return {
            "allocated": torch.cuda.memory_allocated(),
            "reserved": torch.cuda.memory_reserved(),
            "taken": -torch.cuda.mem_get_info()[0],
        }

    before = gpu()
    model = load(self, **given)
    after = gpu()
    sizes = {
        kind: {name: tensor.numel() * tensor.element_size() for name, tensor in tensors}
        for kind, tensors in (("parameters", model.named_parameters()), ("buffers", model.named_buffers()))
    }
    name = f"{type(model).__name__}-{os.getpid()}.json"
    with open(os.path.join(os.environ["ACCEPTANCE_WEIGHTS"], name), "w") as file:
        json.dump({key: after[key] - before[key] for key in before} | sizes, file)
    return model


class Finder(importlib.abc.MetaPathFinder):
    """Wraps the loader's module once it is imported."""

    def find_spec(self, name, path, target=None):
        if name != LOADER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            load = module.DummyModelLoader.load_model
            module.DummyModelLoader.load_model = lambda self, **given: told(load, self, **given)

        spec.loader.exec_module = exec_module
        return spec


if os.environ.get("ACCEPTANCE_WEIGHTS"):
    sys.meta_path.insert(0, Finder())
