import hub_server
import pytest
from huggingface_hub import constants

from attngeo.checkpoints import ranges
from attngeo.checkpoints.ranges import Place, RemoteBytes
from attngeo.errors import CheckpointError

SIZE = 100_000


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A server with one file, whose pieces are small and whose waits are short."""
    (tmp_path / "o" / "m").mkdir(parents=True)
    (tmp_path / "o" / "m" / "file.bin").write_bytes(bytes(range(250)) * (SIZE // 250))
    monkeypatch.setattr(ranges, "PIECE", 10_000)
    monkeypatch.setattr(ranges, "FIRST_WAIT", 0.001)
    hub = hub_server.FakeHub(tmp_path)
    monkeypatch.setattr(constants, "ENDPOINT", hub.hub.url)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield hub
    hub.close()


def open_file(hub) -> RemoteBytes:
    def find() -> Place:
        hub.given += 1
        return Place(f"{hub.storage.url}/o/m/file.bin?given={hub.given}", SIZE)

    return RemoteBytes("file.bin of o/m", find(), find)


def content(start: int, stop: int) -> bytes:
    return (bytes(range(250)) * (SIZE // 250))[start:stop]


@pytest.mark.parametrize(
    "start, stop", [(0, SIZE), (0, 8), (5, 6), (9_999, 10_001), (12_345, 87_654), (SIZE - 1, SIZE)]
)
def test_any_range_and_not_a_byte_more(start, stop, hub):
    assert open_file(hub).read(start, stop) == content(start, stop)
    assert hub.served == stop - start
    assert len(hub.ranges) == -(-(stop - start) // ranges.PIECE)


def test_several_ranges_are_in_flight(hub):
    waiting = hub_server.threading.Barrier(4, timeout=10)

    def wait_for_the_others(handler, data):
        waiting.wait()
        handler.body(206, data, len(data), handler.span)

    hub.faults.extend([wait_for_the_others] * 4)
    assert open_file(hub).read(0, SIZE) == content(0, SIZE)


MENDED = {
    "429, 500, 502, 503, 504": [hub_server.status(code) for code in (429, 500, 502, 503, 504)],
    "drop before the answer": [hub_server.hang_up] * 3,
    "drop in the body": [hub_server.drop_after(count) for count in (1, 100, 5_000, 9_000)],
    "drop without a byte": [hub_server.drop_after(0)] * 5,
    "too short": [hub_server.too_short] * 2,
    "too long": [hub_server.too_long] * 2,
    "another range": [hub_server.other_range] * 2,
}


@pytest.mark.parametrize("faults", MENDED.values(), ids=MENDED)
def test_what_passes_is_waited_out(faults, hub):
    hub.faults.extend(faults)
    assert open_file(hub).read(3, 25_003) == content(3, 25_003)
    assert not hub.faults


# what the server goes on doing, and after how many requests it is given up
LASTING = {
    "503": (hub_server.status(503), ranges.ATTEMPTS),
    "drops": (hub_server.hang_up, ranges.ATTEMPTS),
    "too long": (hub_server.too_long, ranges.ATTEMPTS),
    "another range": (hub_server.other_range, ranges.ATTEMPTS),
    "no ranges": (hub_server.whole_file, 1),
    "teapot": (hub_server.status(418), 1),
    "refused": (hub_server.status(403), 2),  # once more at the location found again
}


@pytest.mark.parametrize("fault, requests", LASTING.values(), ids=LASTING)
def test_what_lasts_ends_in_one_sentence(fault, requests, hub, as_user):
    hub.faults.extend([fault] * 100)
    with pytest.raises(CheckpointError) as caught:
        open_file(hub).read(5, 8_005)
    assert len(hub.ranges) == requests
    sentence = str(caught.value)
    assert "file.bin of o/m" in sentence and "\n" not in sentence and sentence.endswith(".")


def test_an_expired_location_is_looked_up_again_once_for_all_pieces(hub):
    file = open_file(hub)
    hub.expiry = 2
    assert file.read(0, SIZE) == content(0, SIZE)
    assert hub.given == 2


def test_a_file_that_changed_is_refused(hub, as_user):
    def find() -> Place:
        return Place(f"{hub.storage.url}/o/m/file.bin?given=9", SIZE + 1)

    file = RemoteBytes("file.bin of o/m", Place(f"{hub.storage.url}/o/m/file.bin?given=0", SIZE), find)
    hub.expiry = 5
    with pytest.raises(CheckpointError):
        file.read(0, 10)
    assert len(hub.ranges) == 1


def test_no_server_at_all(hub, as_user):
    place = Place("http://127.0.0.1:9/file", SIZE)
    with pytest.raises(CheckpointError, match=f"127.0.0.1:9.* {ranges.ATTEMPTS} "):
        RemoteBytes("file", place, lambda: place).read(0, 10)
