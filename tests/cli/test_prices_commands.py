"""Commands `prices refresh`, `list` and `import` against a web server on this machine."""

import io
import json
import os
import socket
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from web_server import Site, serving

from orchestrator.cli import main
from orchestrator.extensions.price_catalogues import fetched_offers
from orchestrator.pipeline.offer_files import load_known_offers
from workloads.data import download

HEAD = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice"
NEBIUS = f"{HEAD}\nneb_h100,H100,1,16,200,3,eu-north1,,1.25\nneb_h200,H200,8,128,1600,28,eu-west1,,11.6\n"
LAMBDA = f"{HEAD}\nlam_h100,H100,8,208,1800,20,us-east-1,,\nlam_a100,A100,1,30,200,1.3,us-east-1,,\n"
FOLDER = "/catalogs/v8"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.chdir(tmp_path)
    with serving() as site:
        site.files |= {
            f"{FOLDER}/nebius/vms.csv": NEBIUS.encode(),
            f"{FOLDER}/lambda/vms.csv": LAMBDA.encode(),
            **publish("nebius", HUNT_NEBIUS),
            **publish("lambdalabs", HUNT_LAMBDA),
        }
        yield site


HUNT_HEAD = (
    "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags,"
    "cpu_arch,provider_data\r\n"
)
HUNT_NEBIUS = (
    f"{HUNT_HEAD}"
    'gpu-h100-sxm 1gpu,eu-north1,3.0,16,200.0,1,H100,80.0,False,,nvidia,,x86,"{""fabrics"": [""f-3""]}"\r\n'
    "gpu-h100-sxm 1gpu,eu-north1,1.25,16,200.0,1,H100,80.0,True,,nvidia,,x86,{}\r\n"
    "cpu-e2 2vcpu-8gb,eu-north1,0.05,2,8.0,0,,,False,,,,x86,{}\r\n"
)
HUNT_LAMBDA = (
    f"{HUNT_HEAD}"
    "gpu_8x_h100_sxm5,us-east-1,31.92,208,1933.2,8,H100,80.0,False,23622.3,nvidia,,x86,{}\r\n"
    "gpu_1x_gh200,us-east-1,2.29,64,464.0,1,GH200,96.0,False,4398.0,nvidia,gh200-arm,arm,{}\r\n"
)
HUNT = "/v3"
VERSION = "20260818-42"


def zipped(**files: str) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.csv", text)
    return written.getvalue()


def publish(provider: str, text: str, version: str = VERSION) -> dict[str, bytes]:
    """Return the two files of a provider as gpuhunt publishes them."""
    return {
        f"{HUNT}/{provider}/version": f"{version}\n".encode(),
        f"{HUNT}/{provider}/{version}/catalog.zip": zipped(**{provider: text}),
    }


def refresh(site: Site, sellers: str = "nebius,lambda") -> int:
    return main(["prices", "refresh", f"sellers={sellers}", f"url={site.url}{FOLDER}"])


def hunt(site: Site, sellers: str = "nebius,lambda") -> int:
    words = [f"sellers={sellers}", "catalogue=gpuhunt", f"url={site.url}{HUNT}"]
    return main(["prices", "refresh", *words])


def list_offers(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str, float]]:
    """List offers of the two sellers that the server has."""
    capsys.readouterr()
    sellers = () if any(word.startswith("sellers=") for word in words) else ("sellers=lambda,nebius",)
    main(["prices", "list", *words, *sellers, "--json"])
    offers = json.loads(capsys.readouterr().out)["offers"]
    return [(offer["seller"], offer["instance"], offer["on_demand_usd_per_hour"]) for offer in offers]


def test_fetched_prices_are_listed_the_cheapest_first(site: Site, capsys) -> None:
    assert refresh(site) == 0
    assert list_offers(capsys, "device=H100") == [
        ("nebius", "neb_h100", 3.0),
        ("lambda", "lam_h100", 20.0),
    ]
    assert list_offers(capsys, "device=a100_40,h200", "sellers=lambda") == [("lambda", "lam_a100", 1.3)]
    assert list_offers(capsys, "region=eu-west1", "spot=true") == [("nebius", "neb_h200", 28.0)]


def test_the_table_has_seller_instance_region_prices_and_day(site: Site, capsys) -> None:
    refresh(site)
    assert main(["prices", "list", "device=h100"]) == 0
    row = next(line.split() for line in capsys.readouterr().out.splitlines() if "neb_h100" in line)
    assert row[:5] == ["h100", "nebius", "neb_h100", "eu-north1", "–"]  # noqa: RUF001
    assert row[5:9] == ["1", "3", "1.25", "1.25"]


@pytest.mark.more
def test_a_second_refresh_replaces_the_prices_of_its_sellers_alone(site: Site, capsys) -> None:
    refresh(site)
    site.files[f"{FOLDER}/nebius/vms.csv"] = NEBIUS.replace(",3,", ",2,").encode()
    assert refresh(site, "nebius") == 0
    assert list_offers(capsys, "device=h100") == [("nebius", "neb_h100", 2.0), ("lambda", "lam_h100", 20.0)]


def break_schema(site: Site) -> None:
    site.files[f"{FOLDER}/nebius/vms.csv"] = b"name,usd\nneb_h100,3\n"


def set_price_to_zero(site: Site) -> None:
    site.files[f"{FOLDER}/nebius/vms.csv"] = NEBIUS.replace(",3,", ",0,").encode()


def break_off(site: Site) -> None:
    site.breaks_after[f"{FOLDER}/nebius/vms.csv"] = 120


def break_off_without_length(site: Site) -> None:
    site.tells_length = False
    break_off(site)


def send_100_mb(site: Site) -> None:
    site.files[f"{FOLDER}/nebius/vms.csv"] = NEBIUS.encode() + b"x" * 100_000_000


def remove_file(site: Site) -> None:
    del site.files[f"{FOLDER}/nebius/vms.csv"]


def redirect_to_file(site: Site) -> None:
    site.redirects[f"{FOLDER}/nebius/vms.csv"] = "file:///etc/passwd"


@pytest.mark.more_except("set_price_to_zero", "remove_file")
@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (break_schema, "it has no column InstanceType"),
        (set_price_to_zero, "line 2: neb_h100 has a price of 0, which is not above 0"),
        (break_off, "the connection ended after 120 of"),
        (break_off_without_length, "it is cut"),
        (send_100_mb, "it is larger than 67,108,864 bytes"),
        (remove_file, "HTTP Error 404"),
        (redirect_to_file, "file"),
    ],
)
def test_a_catalogue_that_cannot_be_used_leaves_the_last_good_list_and_shows_it(
    site: Site, capsys, harm, reason: str
) -> None:
    refresh(site)
    before = Path("outputs/prices.json").read_text()
    harm(site)
    capsys.readouterr()
    assert refresh(site, "nebius") == 1
    # a server whose client has left prints that, too
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert reason in line
    assert "the last good list is used, of 2" in line
    assert Path("outputs/prices.json").read_text() == before


def test_prices_of_gpuhunt_have_the_day_of_its_version(site: Site, capsys) -> None:
    assert hunt(site) == 0
    assert "nebius: 1 price of 2026-08-18" in capsys.readouterr().out
    main(["prices", "list", "device=h100", "sellers=nebius", "--json"])
    (offer,) = json.loads(capsys.readouterr().out)["offers"]
    assert (offer["on_demand_usd_per_hour"], offer["spot_usd_per_hour"]) == (3.0, 1.25)
    assert offer["source"].endswith("/v3/nebius/20260818-42/catalog.zip")
    assert list_offers(capsys, "sellers=lambda") == [("lambda", "gpu_8x_h100_sxm5", 31.92)]


HUNT_ADDRESS = f"{HUNT}/nebius/{VERSION}/catalog.zip"


def change_hunt(old: str, new: str):
    return lambda site: site.files.update(publish("nebius", HUNT_NEBIUS.replace(old, new)))


def set_version(version: bytes):
    return lambda site: site.files.update({f"{HUNT}/nebius/version": version})


def set_archive(content: bytes):
    return lambda site: site.files.update({HUNT_ADDRESS: content})


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (change_hunt("location", "place"), "it has no column location, which catalogues of gpuhunt have"),
        (change_hunt(",3.0,", ",0.0,"), "line 2: gpu-h100-sxm 1gpu has a price of 0, which is not above 0"),
        (change_hunt(",3.0,", ",-3,"), "line 2: gpu-h100-sxm 1gpu has a price of -3, which is not above 0"),
        (change_hunt(",1.25,", ",4,"), "gpu-h100-sxm 1gpu has a spot price of 4, above 3 on demand"),
        (change_hunt("False,,,,x86,{}\r\n", "Fal"), "it is cut: its last line has no end"),
        (
            lambda site: site.files.update(publish("nebius", HUNT_NEBIUS, "21990101-7")),
            "it is of 2199-01-01, which lies in the future; today is 2",
        ),
        (set_version(b"\xff\xfe"), "begins with no day, as in 20260818-42"),
        (set_version(b"<html>"), "its version '<html>' begins with no day, as in 20260818-42"),
        (set_archive(zipped(nebius=HUNT_NEBIUS)[:300]), "it is no archive that can be read"),
        (set_archive(zipped(a=HUNT_NEBIUS, b=HUNT_NEBIUS)), "it has 2 CSV files, and not one"),
        (set_archive(zipped(nebius="x" * 2**26 + "\n")), "it is larger than 67,108,864 bytes"),
        (set_archive(b"x" * 100_000_000), "it is larger than 67,108,864 bytes"),
        (lambda site: site.files.pop(HUNT_ADDRESS), "HTTP Error 404"),
        (lambda site: site.redirects.update({HUNT_ADDRESS: "file:///etc/passwd"}), "file"),
        (lambda site: site.breaks_after.update({HUNT_ADDRESS: 99}), "the connection ended after 99 of"),
    ],
)
def test_an_archive_that_cannot_be_used_leaves_the_last_good_list(
    site: Site, tmp_path: Path, harm, reason: str
) -> None:
    def fetch() -> dict[str, str]:
        return fetched_offers.refresh_offers(
            tmp_path / "prices.json",
            ("nebius",),
            catalogue="gpuhunt",
            url=f"{site.url}{HUNT}",
            find_device={"H100": "h100"}.get,
        )

    assert fetch() == {}
    before = (tmp_path / "prices.json").read_text()
    harm(site)
    found = fetch()["nebius"]
    assert reason in found
    assert "\n" not in found
    assert (tmp_path / "prices.json").read_text() == before
    assert fetched_offers.describe_last(tmp_path / "prices.json", "nebius").endswith("used, of 2026-08-18")


def test_prices_of_google_from_gpuhunt_replace_those_of_its_rows(site: Site, capsys) -> None:
    row = "a2-ultragpu-1g,us-central1-{},{},12,170.0,1,A100,80.0,{},,nvidia,,x86,{{}}\r\n"
    today = datetime.now(UTC).strftime("%Y%m%d-9")
    rows = row.format("a", 4.5, False) + row.format("c", 4.5, False) + row.format("a", 2.25, True)
    site.files |= publish("gcp", HUNT_HEAD + rows, today)
    assert hunt(site, "gcp") == 0
    words = ["workload=resnet50", "device=a100_80", "global_batch_size=64", "--json"]
    own = "{on_demand: 2.0, as_of: 2026-11-01, source: our contract}"
    Path("conf/prices").mkdir(parents=True)
    Path("conf/prices/mine.yaml").write_text(
        f"defaults: [gcp, _self_]\nregions: {{us-central1: {{instances: {{a2-ultragpu-1g: {own}}}}}}}\n"
    )
    fetched = (4.5, datetime.now(UTC).date().isoformat())
    for prices, expected in {"gcp": fetched, "mine": (2.0, "2026-11-01")}.items():
        capsys.readouterr()
        assert main(["predict", *words, f"prices={prices}"]) == 0
        (found,) = json.loads(capsys.readouterr().out)["predictions"]
        assert (found["price"]["node_usd_per_hour"], found["price"]["as_of"]) == expected


def test_a_zip_of_gpuhunt_is_imported_with_the_day_of_its_last_change(site: Site, tmp_path, capsys) -> None:
    (tmp_path / "catalog.zip").write_bytes(site.files[HUNT_ADDRESS])
    assert main(["prices", "import", "file=catalog.zip", "seller=nebius"]) == 0
    assert "nebius: 1 price of 2" in capsys.readouterr().out
    (tmp_path / "nebius.csv").write_text(HUNT_NEBIUS)
    assert main(["prices", "import", "file=nebius.csv", "seller=nebius"]) == 0


def test_without_a_network_a_first_refresh_shows_that_there_is_no_earlier_list(site: Site, capsys) -> None:
    assert main(["prices", "refresh", "sellers=cudo", "url=http://127.0.0.1:1"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "Connection refused" in line
    assert line.endswith("it has no earlier list")
    assert main(["prices", "refresh", "sellers=aws", "url=http://127.0.0.1:1"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "the last good list is used, of 2" in line  # the one that comes along
    assert not Path("outputs/prices.json").exists()


def test_a_server_that_sends_for_ever_is_left_after_the_limit(
    site: Site, monkeypatch, tmp_path: Path
) -> None:
    site.files[f"{FOLDER}/nebius/vms.csv"] = NEBIUS.encode() + b"y" * 2**20
    failures = fetched_offers.refresh_offers(
        tmp_path / "prices.json",
        ("nebius",),
        catalogue="skypilot",
        url=f"{site.url}{FOLDER}",
        find_device=lambda _: "h100",
        most_seconds=0.0,
    )
    assert "out of time" in failures["nebius"]
    assert not (tmp_path / "prices.json").exists()


def test_a_server_that_never_answers_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PIECE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        failures = fetched_offers.refresh_offers(
            tmp_path / "prices.json",
            ("nebius",),
            catalogue="skypilot",
            url=f"http://127.0.0.1:{silent.getsockname()[1]}",
            find_device=lambda _: "h100",
        )
    assert failures["nebius"].endswith("timed out")


def test_a_file_is_imported_with_the_day_of_its_last_change(site: Site, tmp_path: Path, capsys) -> None:
    file = tmp_path / "vms.csv"
    file.write_text(LAMBDA)
    os.utime(file, (1_767_225_600, 1_767_225_600))
    assert main(["prices", "import", "file=vms.csv", "seller=lambda"]) == 0
    assert "lambda: 2 prices of 2026-01-01" in capsys.readouterr().out
    assert main(["prices", "list"]) == 0
    told = "Prices of lambda are of 2026-01-01, more than 30 days old; `prices refresh` fetches those of most"
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["import", "file=absent.csv", "seller=lambda"], "file=absent.csv: No such file or directory"),
        (["import", "file=vms.csv"], "prices import needs seller=…"),
        (["import", "file=late.csv", "seller=lambda"], "in the future; today is 2"),
        (["import", "file=late.csv", "seller=lambda"], "; the last good list is used, of 2026-10-10"),
        (["import", "file=late.csv", "seller=cudo"], "; it has no earlier list"),
        (["list", "device=h999"], "unknown device 'h999'"),
        (["list", "spot=yes"], "spot=yes is not possible; choose true or false"),
        (["refresh", "sellers=[]"], "sellers= names none; possible: aws, azure, lambda"),
        (["refresh", "catalogue=gpuhnt"], "unknown catalogue 'gpuhnt'"),
        (["list", "color=red"], "unknown key of 'prices': 'color'"),
    ],
)
def test_a_wrong_request_is_one_line(site: Site, tmp_path: Path, capsys, words, reason: str) -> None:
    (tmp_path / "late.csv").write_text(LAMBDA)
    os.utime(tmp_path / "late.csv", (4_102_444_800, 4_102_444_800))
    assert main(["prices", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line


@pytest.mark.parametrize(
    ("day", "reason"),
    [("2199-01-01", "it has a price of 2199-01-01, which lies in the future"), ("soon", "which is no day")],
)
def test_kept_prices_of_a_day_that_cannot_be_are_refused_in_one_line(site, capsys, day, reason) -> None:
    refresh(site)
    kept = Path("outputs/prices.json")
    today = json.loads(kept.read_text())["offers"][0]["as_of"]
    kept.write_text(kept.read_text().replace(today, day))
    capsys.readouterr()
    assert main(["prices", "list", "device=h100"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line
    assert "remove it, and refresh them" in line


def test_without_a_network_the_list_that_comes_along_is_shown_with_its_age(site: Site, capsys) -> None:
    assert main(["prices", "list", "device=h100"]) == 0
    *_, told = capsys.readouterr().out.splitlines()
    assert told.startswith("Prices of aws are of 2026-08-06, more than 30 days old; `prices refresh`")


def test_imported_prices_take_the_place_of_those_that_come_along(site: Site, tmp_path, capsys) -> None:
    assert list_offers(capsys, "device=h100", "region=us-east-1", "sellers=aws") == [
        ("aws", "p5.4xlarge", 6.88),
        ("aws", "p5.48xlarge", 55.04),
    ]
    (tmp_path / "vms.csv").write_text(LAMBDA)
    assert main(["prices", "import", "file=vms.csv", "seller=aws"]) == 0
    assert list_offers(capsys, "device=h100", "sellers=aws") == [("aws", "lam_h100", 20.0)]


def test_a_device_without_any_known_price_gives_one_line_and_exit_1(site: Site, capsys) -> None:
    assert main(["prices", "list", "device=gaudi3"]) == 1
    (said,) = capsys.readouterr().out.splitlines()
    assert said.startswith(
        "no known price is of device=gaudi3; `prices refresh` fetches more, and 'prices.own="
    )


REGIONS = [
    f"{part}-{side}-{n}" for part in ("us", "eu", "ap", "sa") for side in ("east", "west") for n in range(4)
]
INFO = "\"{'Gpus': [{'Name': 'H100', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 81920}}]}\""


def write_skypilot(rows: int) -> Iterator[str]:
    """Yield a catalogue with the columns, shares of GPUs and lengths of AWS's, which has 40,000 rows."""
    yield f"{ZONES}\n"
    for row in range(rows):
        where = f"{REGIONS[row % 32]},az{row % 3},x86_64"
        is_gpu = row % 12 == 0
        machine = f"p5.48xlarge,H100,8.0,192,2048,{INFO},55.04" if is_gpu else "c5.large,,,2.0,4.0,,99.0"
        yield f"{machine},16.512345,{where}\n"


def write_gpuhunt(rows: int) -> Iterator[str]:
    """Yield a catalogue of gpuhunt likewise: a row for each price of each instance in each region."""
    yield HUNT_HEAD
    for row in range(rows):
        region, is_spot = REGIONS[row // 2 % 32], row % 2 == 1
        gpu = "8,H100,80.0" if row % 12 < 2 else "0,,"
        yield f"p5.48xlarge,{region},{16.5 if is_spot else 55.04},192,2048.0,{gpu},{is_spot},,,,x86,{{}}\r\n"


@pytest.mark.more
@pytest.mark.parametrize(
    ("write", "offers", "most_bytes"), [(write_skypilot, 3750, 3.0), (write_gpuhunt, 16, 0.2)]
)
def test_a_whole_catalogue_is_imported_line_by_line(
    tmp_path: Path, write, offers: int, most_bytes: float
) -> None:
    file = tmp_path / "vms.csv"
    file.write_text("".join(write(45_000)), newline="")
    size = file.stat().st_size
    assert size > 2_500_000
    tracemalloc.start()
    before = time.process_time()
    found = fetched_offers.import_offers(
        tmp_path / "prices.json", file, "aws", find_device={"H100": "h100"}.get
    )
    seconds, (_, peak) = time.process_time() - before, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == offers
    assert peak < most_bytes * size
    assert seconds < 60  # with the trace of memory; without it 1
    assert load_known_offers(tmp_path / "prices.json").offers[-offers:] == found


HOSTS = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region"
PODS = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,"
    "Region,SpotPrice,Price,AvailabilityZone,GpuInfo"
)
ZONES = f"{HOSTS},AvailabilityZone,Arch"
UPSTREAM = (
    "InstanceType,UpstreamCloudId,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,"
    "GpuInfo,Region,Price,SpotPrice"
)
SHAPES = {
    "aws": (
        ZONES,
        "c1.medium,,,2.0,1.7,,0.158,0.0501,ap-northeast-1,apne1-az1,i386",
        "gr6f.4xlarge,L4,0.5,16.0,128.0,\"{'Gpus': [{'Name': 'L4', 'Count': 0, 'GpuPartitionSize': 0.5, "
        "'MemoryInfo': {'SizeInMiB': 11444}}]}\",1.066,0.3056,us-east-2,use2-az2,x86_64",
        "g6.xlarge,L4,1.0,4.0,16.0,\"{'Gpus': [{'Name': 'L4', 'Count': 1, 'MemoryInfo': "
        "{'SizeInMiB': 22888}}]}\",0.8048,0.35,us-east-2,use2-az2,x86_64",
    ),
    "vast": (
        HOSTS,
        "1x-RTX_4090-32-65536,RTX4090,1,32,64.0,\"{'Gpus': [{'Name': 'RTX4090', 'Count': 1, 'MemoryInfo': "
        '{\'SizeInMiB\': 24564}}]}",0.40,0.00,"Germany, DE, EU"',
    ),
    "runpod": (
        PODS,
        "1x_RTX5090_SECURE,RTX5090,1.0,8.0,117.0,SE,0.9,0.9,EU-SE-1,\"{'Gpus': [{'Name': 'RTX 5090', "
        "'Count': 1, 'MemoryInfo': {'SizeInMiB': 32}}], 'TotalGpuMemoryInMiB': 32}\"",
    ),
    "verda": (
        UPSTREAM,
        '1B200.30V,1B200.30V,30.0,184.0,B200,1.0,"{""Gpus"": [{""Name"": ""B200"", ""Count"": 1, '
        '""MemoryInfo"": {""SizeInMiB"": 184320}}]}",FIN-03,4.89,1.712',
        '8RTXPRO6000.240V,8RTXPRO6000.240V,240.0,720.0,RTX-PRO-6000,8.0,"{""Gpus"": []}",FIN-03,,4.732',
    ),
    "oci": (
        f"{HOSTS},AvailabilityZone",
        "BM.GPU.MI300X.8,MI300X,8,224,2048,\"{'Gpus': [{'Name': 'MI300X', 'Count': 8, 'MemoryInfo': "
        "{'SizeInMiB': 196608}}]}\",48,,us-ashburn-1,US-ASHBURN-1-AD-1",
    ),
    "lambda": (HEAD, "gpu_1x_a6000,A6000,1.0,14.0,100.0,0.8,us-east-1,,"),
    "nebius": (
        HEAD,
        "cpu-e2_2vcpu-8gb,,0,2,8,0.0496,eu-north1,,",
        "gpu-h200-sxm_8gpu,H200,8,128,1600,28.00,eu-north1,\"{'Gpus': [{'Name': 'H200', 'Count': 8, "
        "'MemoryInfo': {'SizeInMiB': 144384}}]}\",11.60",
    ),
}
"""Seller -> rows as its catalogue has them, with what was once read wrongly in them."""


@pytest.mark.more
def test_the_catalogues_of_all_sellers_are_read_from_their_place(site: Site, capsys) -> None:
    site.files |= {
        f"{FOLDER}/{seller}/vms.csv": "\n".join((*rows, "")).encode() for seller, rows in SHAPES.items()
    }
    assert refresh(site, ",".join(SHAPES)) == 0
    assert list_offers(capsys, f"sellers={','.join(SHAPES)}") == [
        ("verda", "1B200.30V", 4.89),
        ("nebius", "gpu-h200-sxm_8gpu", 28.0),
        ("aws", "g6.xlarge", 0.8048),
        ("oci", "BM.GPU.MI300X.8", 48.0),
        ("vast", "1x-RTX_4090-32-65536", 0.4),
        ("runpod", "1x_RTX5090_SECURE", 0.9),
        ("lambda", "gpu_1x_a6000", 0.8),
        ("verda", "8RTXPRO6000.240V", None),
    ]
    main(["prices", "list", "device=l4,rtx_4090", "sellers=aws,vast"])
    told = capsys.readouterr().out
    assert "use2-az2" in told
    assert "No firm offer, but what a host asked: vast." in told
