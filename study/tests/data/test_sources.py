"""Tables from a folder and from OpenML: the real client against a server that answers as OpenML does."""

import gzip
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest

from fairlevel.exceptions import InvalidInput, UnknownName
from fairlevel_study.catalogue import SUITES, catalogue, suite
from fairlevel_study.sources import DownloadFailed, FolderSource, OpenMLSource, resolve_source

ARFF = """@relation wind
@attribute day numeric
@attribute RPT numeric
@attribute season {cold,warm}
@attribute MAL numeric
@data
1,15.04,cold,18.5
2,14.71,cold,17.54
3,?,warm,12.75
4,10.58,warm,15.0
"""


class OpenML(BaseHTTPRequestHandler):
    """The four answers that scikit-learn's client asks for; ``trouble`` spoils the data file."""

    trouble = ""
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self):
        type(self).asked.append(self.path)
        number, content = 503, ARFF.encode()
        if self.path.endswith("/json/data/503"):
            description = {"id": str(number), "name": "wind", "version": "1", "status": "active", "format": "ARFF"}
            description |= {"description": "daily wind speeds"}
            description |= {"file_id": "52615", "url": "https://api.openml.org/data/v1/download/52615/wind.arff"}
            description |= {"default_target_attribute": "MAL", "md5_checksum": hashlib.md5(content).hexdigest()}
            self.answer(json.dumps({"data_set_description": description}).encode())
        elif "/json/data/features/" in self.path:
            kinds = {"day": "numeric", "RPT": "numeric", "season": "nominal", "MAL": "numeric"}
            features = [
                {"index": str(k), "name": name, "data_type": kind, "is_target": str(name == "MAL").lower()}
                | {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
                for k, (name, kind) in enumerate(kinds.items())
            ]
            self.answer(json.dumps({"data_features": {"feature": features}}).encode())
        elif "/json/data/qualities/" in self.path:
            qualities = [{"name": "NumberOfInstances", "value": "4.0"}, {"name": "NumberOfFeatures", "value": "4.0"}]
            self.answer(json.dumps({"data_qualities": {"quality": qualities}}).encode())
        elif self.trouble == "server error":
            self.send_error(500)
        elif self.trouble == "wrong checksum":
            self.answer(content.replace(b"15.04", b"99.04"))
        elif self.trouble == "truncated":
            self.answer(content, announced=len(content) + 100)
        else:
            self.answer(content)

    def answer(self, content, announced=None):
        packed = gzip.compress(content)
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(packed) + (100 if announced else 0)))
        self.end_headers()
        self.wfile.write(packed[: len(packed) // 2] if announced else packed)

    def log_message(self, *_):
        pass


def asked_at(address, patch):
    """scikit-learn's client asks this address instead of OpenML's."""

    def elsewhere(request):
        return urlopen(Request(address + urlsplit(request.full_url).path, headers=dict(request.header_items())))

    patch.setattr("sklearn.datasets._openml.urlopen", elsewhere)


@pytest.fixture
def openml(tmp_path, monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), OpenML)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)  # seconds until it sees the end
    thread.start()
    OpenML.trouble, OpenML.asked = "", []
    asked_at(f"http://127.0.0.1:{server.server_port}", monkeypatch)
    yield OpenMLSource(cache=tmp_path, retries=1, delay=0.01)
    server.shutdown()
    server.server_close()
    thread.join()


def test_openml_end_to_end_and_from_the_cache(openml):
    table = openml.load("wind")
    assert table.target.tolist() == [18.5, 17.54, 12.75, 15.0]
    assert list(table.features.columns) == ["day", "RPT", "season"]
    assert np.isnan(table.features["RPT"].iloc[2])
    asked = len(OpenML.asked)
    pd.testing.assert_frame_equal(openml.load("wind").features, table.features)
    assert len(OpenML.asked) == asked


@pytest.mark.parametrize("trouble", ["server error", "wrong checksum", "truncated"])
def test_openml_troubles_are_reported_and_leave_no_bad_cache(openml, trouble):
    OpenML.trouble = trouble
    with pytest.raises(DownloadFailed, match=r"wind \(OpenML 503\)"):
        openml.load("wind")
    OpenML.trouble = ""
    assert len(openml.load("wind").target) == 4


def test_without_a_server_the_error_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # scikit-learn waits three seconds, whatever the delay
    asked_at("http://127.0.0.1:9", monkeypatch)
    source = OpenMLSource(cache=tmp_path, retries=1, delay=0.01)
    with pytest.raises(DownloadFailed, match="could not be fetched"):
        source.load("wind")


def test_tables_without_an_id_are_refused(tmp_path):
    with pytest.raises(UnknownName, match="OpenML id 'wage_islr'"):
        OpenMLSource(cache=tmp_path).load("wage_islr")


@pytest.fixture
def folder(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", None], "y": [1.0, None, 3.0]})
    frame.to_parquet(tmp_path / "mine.parquet")
    digest = hashlib.sha256((tmp_path / "mine.parquet").read_bytes()).hexdigest()
    manifest = pd.DataFrame({"slug": ["mine", "gone"], "target": ["y", "y"], "sha256": [digest, "0"]})
    manifest.to_csv(tmp_path / "MANIFEST.csv", index=False)
    return tmp_path


def test_any_folder_with_a_manifest_is_a_source(folder):
    source = FolderSource(folder)
    table = source.load("mine")
    assert source.slugs == ("mine", "gone")
    assert table.target.tolist() == [1.0, 3.0]  # a row without a target is no row
    assert list(table.features.columns) == ["a", "b"]


def test_bad_folders(folder, tmp_path, monkeypatch):
    with pytest.raises(UnknownName, match=r"Unknown table 'mina'. Did you mean 'mine'\?"):
        FolderSource(folder).load("mina")
    with pytest.raises(InvalidInput, match="does not exist, though MANIFEST"):
        FolderSource(folder).load("gone")
    (folder / "mine.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(InvalidInput, match="sha256 differs"):
        FolderSource(folder).load("mine")
    manifest = pd.read_csv(folder / "MANIFEST.csv")
    manifest.loc[0, "sha256"] = hashlib.sha256(b"PAR1 not really").hexdigest()
    manifest.to_csv(folder / "MANIFEST.csv", index=False)
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        FolderSource(folder).load("mine")
    manifest.drop(columns="target").to_csv(folder / "MANIFEST.csv", index=False)
    with pytest.raises(InvalidInput, match="lacks target"):
        FolderSource(folder).load("mine")
    with pytest.raises(InvalidInput, match="is not a data folder"):
        resolve_source(tmp_path / "nowhere")
    monkeypatch.setenv("FAIRLEVEL_DATA_DIR", str(tmp_path / "elsewhere"))
    with pytest.raises(InvalidInput, match="elsewhere"):
        resolve_source()
    monkeypatch.delenv("FAIRLEVEL_DATA_DIR")
    assert isinstance(resolve_source(), OpenMLSource)


def test_the_catalogue_keeps_its_promises():
    entries = catalogue().values()
    assert len(entries) >= 80
    ids = [entry.openml_id for entry in entries if entry.openml_id is not None]
    assert len(ids) == len(set(ids))
    assert {name for entry in entries for name in entry.suites} == set(SUITES) - {"all"}
    assert [len(suite(name, ())) for name in ("quick", "folder60", "openml60")] == [6, 60, 60]
    assert all(catalogue()[slug].openml_id for slug in suite("openml60", ()))
    assert all(catalogue()[slug].target for name in ("quick", "folder60") for slug in suite(name, ()))
    assert all(catalogue()[slug].openml_id for name in ("quick", "openml60") for slug in suite(name, ()))
    with pytest.raises(UnknownName, match="Did you mean 'quick'"):
        suite("quik", ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("slug,target,sha256\n../outside,y,0\n", "names a table '../outside'"),
        ("slug,target,sha256\n/etc/passwd,y,0\n", "names a table '/etc/passwd'"),
        ("slug,target,sha256\n.hidden,y,0\n", "names a table '.hidden'"),
        ("slug,target,sha256\na,y,0\na,y,0\n", "names the table 'a' twice"),
        ("slug,target,sha256\na,,0\n", "empty cells"),
        ('slug,target,sha256\n"a,y,0\n', "cannot be read"),
        ("", "cannot be read"),
        ("slug,target\na,y\n", "lacks sha256"),
    ],
)
def test_malformed_manifests_are_one_sentence(tmp_path, text, says):
    """A slug with ../ read outside of the folder."""
    (tmp_path / "MANIFEST.csv").write_text(text)
    with pytest.raises(InvalidInput, match=re.escape(says)):
        FolderSource(tmp_path).load("a")


def test_a_manifest_of_other_bytes(tmp_path):
    (tmp_path / "MANIFEST.csv").write_bytes(b"slug,target,sha256\n\xff\xfe,y,0\n")
    with pytest.raises(InvalidInput, match="cannot be read"):
        FolderSource(tmp_path).load("a")
