"""Kills the commands at random moments and looks at what is left: ``make drills`` writes data/drills/kills.json.

    python tests/drills/kills.py [-n KILLS] [--seed SEED] [-o FILE] [KIND ...]

A drill starts a command and ends it by SIGKILL, SIGTERM or SIGINT at a moment drawn uniformly over the processor time
that it takes undisturbed. What then lies under the final names is held against what lay there before and what an
undisturbed command writes; the next command must end as the undisturbed one, bit by bit. Training is killed up to four
times in one run. Commands are forked from a process that has imported their libraries, so that moments do not fall into
imports; every twenty-fifth is a process of its own.
"""

import json
import math
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click
import numpy as np
import psutil
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from drill_record import write_record
from small_models import small_model
from small_runs import flags, small_config, write_text

import attngeo.training.train  # noqa: F401  imported for the forks
from attngeo.cli import main
from attngeo.errors import AttngeoError
from attngeo.files.manifest import MANIFEST, damage
from attngeo.runs.record import read_run

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CHANGING = ("date", "started", "seconds", "tokens_per_second")
OUTSIDE = 25  # one drill of so many is a process of its own


class Kind:
    """One kind of command: what is killed, what comes next, and what must then lie there."""

    kills: tuple[int, ...] = (1,)  # in one drill; one of these is drawn
    whole: dict[str, object] | None = None  # what an undisturbed command leaves
    command: Sequence[str]

    def next(self) -> Sequence[str]:
        """The command that a user gives after a kill."""
        return self.command

    def half(self) -> list[str]:
        """What lies under a final name and is neither the former file nor the new one."""
        return []

    def anew(self, refusal: str) -> bool:
        """Whether the next command asks, rightly, to begin anew."""
        return False


class Train(Kind):
    """``attngeo train``, then with ``--resume``."""

    share, kills = 0.6, (1, 1, 2, 4)

    def __init__(self, home: Path) -> None:
        self.run, text = home / "run", write_text(home / "text.txt")
        config = small_config(text, steps=40, record_every=5, evaluate_every=20, checkpoint_every=6)
        self.command = ["attngeo", "train", "-o", str(self.run), *flags(**vars(config))]

    def reset(self, former: bool) -> None:
        for left in (self.run, Path(os.environ["ATTNGEO_CACHE"])):
            shutil.rmtree(left, ignore_errors=True)

    def next(self) -> Sequence[str]:
        begun = (self.run / "run.json").exists()
        return [*self.command[:4], "--resume"] if begun else self.command

    def anew(self, refusal: str) -> bool:
        """Where no checkpoint was whole yet, the refusal says so, and the run begins again."""
        shutil.rmtree(self.run)
        return "no whole checkpoint" in refusal or "choose another folder" in refusal

    def half(self) -> list[str]:
        if (self.run / "run.json").exists():
            read_run(self.run)
        marked = (path.parent for path in self.run.glob(f"checkpoints/*/{MANIFEST}"))
        return [f"{folder.name}: {what}" for folder in marked if (what := damage(folder))]

    def content(self) -> dict[str, object]:
        found, about = read_run(self.run), json.loads((self.run / "run.json").read_text())
        curves = [found.history.drop(columns="seconds").to_csv(), found.scores.to_csv()]
        pictures = {place: picture.tobytes() for place, picture in found.pictures.items()}
        model = {path.name: path.read_bytes() for path in (self.run / "model").iterdir()}
        about = {name: value for name, value in about.items() if name not in CHANGING}
        shown = {path.name for path in self.run.glob("[!.]*")}
        return {"curves": curves, "pictures": pictures, "model": model, "about": about, "files": shown}


class Survey(Kind):
    """``attngeo survey`` of three models, in half of the drills over records of another gamma; then ``--resume``."""

    share = 0.4

    def __init__(self, home: Path) -> None:
        self.records, self.former, weights = home / "records", home / "former", home / "weights"
        torch.manual_seed(0)
        for name in ("a", "b", "c"):
            small_model("bert", hidden_size=64, num_hidden_layers=12)().save_pretrained(weights / name)
        self.command = ["attngeo", "survey", "-j", "1", "-o", str(self.records), *map(str, sorted(weights.iterdir()))]
        finished([*self.command, "--gamma", "1", "-o", str(self.former)])

    def reset(self, former: bool) -> None:
        shutil.rmtree(self.records, ignore_errors=True)
        if former:
            shutil.copytree(self.former, self.records)
        self.before = self.content()

    def next(self) -> Sequence[str]:
        return [*self.command, "--resume"]

    def half(self) -> list[str]:
        """A folder without record.json counts as unfinished; one with it is the former record or the new one."""
        return [n for n, one in self.content().items() if one not in (self.before.get(n), self.whole.get(n))]

    def content(self) -> dict[str, object]:
        return {
            path.parent.name: {file.name: without_dates(file) for file in sorted(path.parent.iterdir())}
            for path in self.records.glob("*/record.json")
        }


def without_dates(file: Path) -> object:
    if file.suffix != ".json":
        return file.read_bytes()
    return {name: value for name, value in json.loads(file.read_text()).items() if name not in CHANGING}


def started(command: Sequence[str], outside: bool, said: Path) -> int:
    """The process of a command, its output in a file."""
    _, *words = command
    sys.stdout.flush()
    if process := os.fork():
        return process
    with said.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if outside:
        os.execv(sys.executable, ["python", "-m", "attngeo", *words])
    code: object = 1
    try:
        main(words)
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(bool(code)))


def ended(process: int, limit: float = math.inf) -> tuple[int | None, float]:
    """Exit status of a process, negative for the signal that ended it, and the processor time of all that it started.

    The status is None if the time passed the limit first.
    """
    watched = psutil.Process(process)
    while True:
        found, status, used = os.wait4(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
        spent = 0.0
        for one in (watched, *watched.children(recursive=True)) if limit < math.inf else ():
            with suppress(psutil.NoSuchProcess):
                spent += sum(one.cpu_times()[:4])
        if spent >= limit:
            return None, spent
        time.sleep(0.01)


def finished(command: Sequence[str], outside: bool = False) -> tuple[int | None, str, float]:
    """A command that is let be: exit status, what it said, seconds of processor time."""
    said = Path(os.environ["DRILL_OUTPUT"])
    status, spent = ended(started(command, outside, said))
    return status, said.read_text(), spent


def drill(kind: Kind, number: int, seed: int, seconds: dict[bool, float]) -> dict[str, object]:
    """One command killed, once or several times, and the next one."""
    draw, said = np.random.default_rng([seed, number]), Path(os.environ["DRILL_OUTPUT"])
    outside, former, kills, wrong, again = number % OUTSIDE == 0, bool(draw.integers(2)), [], [], "continued"
    kind.reset(former)
    for _ in range(draw.choice(kind.kills)):
        sent, at = SIGNALS[draw.integers(3)], draw.uniform()
        process = started(kind.next() if kills else kind.command, outside, said)
        status, _ = ended(process, at * seconds[outside])
        if status is None:
            os.kill(process, sent)
            status, _ = ended(process)
            if status:  # else it had ended before, or does not heed the signal
                kills.append([sent.name, round(at, 4), status])
        expected = status in (0, -sent, 128 + sent) or (status == 2 and kills)
        if not (expected and "Traceback" not in said.read_text()):
            wrong.append(f"exit status {status} on {sent.name}: {said.read_text()[-300:]}")
        try:
            wrong += kind.half()
        except AttngeoError as error:
            wrong.append(f"{error}")
        if status in (0, 2):  # ended by itself, or refused: no checkpoint was whole yet
            break
    status, words, _ = finished(kind.next())
    if status == 2 and kind.anew(words):
        again = "begun anew"
        status, words, _ = finished(kind.command)
    if status != 0:
        wrong.append(f"exit status {status} of the next command: {words[-300:]}")
    equal = status == 0 and kind.content() == kind.whole
    named = {"number": number, "former": former, "own process": outside}
    return named | {"kills": kills, "then": again, "equal": equal, "wrong": wrong}


KINDS = {"train": Train, "survey": Survey}


@click.command()
@click.option("-n", "--kills", default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, resolve_path=True), help="The record.")
@click.argument("kinds", nargs=-1)
def run(kills: int, seed: int, output: Path | None, kinds: tuple[str, ...]) -> None:
    """Kill commands at random moments."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background has it ignored
    began, drills, undisturbed = time.monotonic(), [], {}
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"ATTNGEO_CACHE": f"{home}/cache", "DRILL_OUTPUT": f"{home}/said", "ATTNGEO_PROFILE": "smoke"}
        for place, name in enumerate(KINDS):
            if kinds and name not in kinds:
                continue
            (Path(home) / name).mkdir()
            kind, seconds = KINDS[name](Path(home) / name), {}
            for outside in (False, True):
                kind.reset(True)
                status, words, seconds[outside] = finished(kind.command, outside)
                assert status == 0, words
                kind.whole = kind.whole or kind.content()
                assert kind.content() == kind.whole, "two undisturbed commands leave different files"
            undisturbed[name] = {"forked": round(seconds[False], 2), "own process": round(seconds[True], 2)}
            click.echo(f"{name}: {undisturbed[name]}")
            done, number = 0, 1000 * place
            while done < kind.share * kills:
                drills.append({"kind": name} | drill(kind, number, seed, seconds))
                done, number = done + len(drills[-1]["kills"]), number + 1
                click.echo(json.dumps(drills[-1]))
    wrong = [d for d in drills if d["wrong"] or not d["equal"]]
    click.echo(f"{sum(len(d['kills']) for d in drills)} kills in {len(drills)} drills; {len(wrong)} went wrong.")
    if output:
        seconds = round(time.monotonic() - began)
        write_record(output, seed=seed, seconds=seconds, undisturbed=undisturbed, drills=drills)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    run()
