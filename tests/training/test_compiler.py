import os
import subprocess
import sys

import pytest
from small_runs import flags, small_config
from torch._dynamo.exc import BackendCompilerFailed
from torch._inductor.exc import InductorError, TritonMissing

from attngeo.errors import ParameterError
from attngeo.experiments.training.compiler import compilable

# a compiler that knows its version, and fails on every file with hundreds of lines
FAILING = """#!/bin/sh
case "$*" in *--version*) echo "g++ 13.0"; exit 0;; esac
for line in $(seq 300); do echo "fatal error: stdio.h: no such file" >&2; done
exit 1
"""
SENTENCES = {
    "missing": "it found no working C++ compiler; leave --compile out, or install one",
    "failing": "the compiler {compiler} ended with an error; leave --compile out, or install a compiler that works",
}


@pytest.mark.parametrize("kind", SENTENCES)
def test_a_compiler_that_cannot_be_used_ends_in_one_sentence(text, tmp_path, kind):
    compiler = tmp_path / "c++"
    if kind == "failing":
        compiler.write_text(FAILING)
        compiler.chmod(0o755)
    folder = tmp_path / "run"
    command = ["train", "-o", str(folder), "--compile", *flags(**vars(small_config(text)))]
    program = [sys.executable, "-c", "from attngeo.cli import main; main()", *command]
    environment = os.environ | {"CXX": str(compiler), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 2
    assert ended.stderr.startswith("attngeo: torch.compile could not build code for the model: ")
    assert SENTENCES[kind].format(compiler=compiler) in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (folder / "run.json").exists()  # the same command without --compile starts in the same folder


def test_another_failure_of_torch_compile_is_named_with_its_cause():
    failures = {
        InductorError(RuntimeError("an operator is not known\n" + "line\n" * 300), None): "RuntimeError: an operator",
        BackendCompilerFailed(len, RuntimeError("Failed to find C compiler. Set CC"), None): "no working C",
        TritonMissing(None): "Triton",
    }
    for failure, said in failures.items():
        with pytest.raises(ParameterError, match=f"(?s){said}.*leave --compile out") as refused, compilable(True):
            raise failure
        assert len(str(refused.value)) < 500
        with pytest.raises(type(failure)), compilable(False):
            raise failure


def test_errors_of_the_training_itself_pass():
    with pytest.raises(ZeroDivisionError), compilable(True):
        raise ZeroDivisionError
