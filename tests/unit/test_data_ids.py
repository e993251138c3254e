"""The id of a data set names its samples: other samples, another id."""

from dataclasses import replace

from workloads.data.mnist import MNIST
from workloads.data.published import Means
from workloads.data.sources import prepare


def test_data_that_is_read_in_another_way_or_belongs_to_another_set_is_other_data(tmp_path):
    means = Means(cache=tmp_path, download=False)
    sets = (MNIST, replace(MNIST, version=MNIST.version + 1), replace(MNIST, name="mnist_again"))
    refs = [prepare(each, "synthetic", means) for each in sets]
    version, content = MNIST.version, MNIST.synthetic.version
    assert [each.id for each in refs] == [
        f"synthetic:mnist-v{version}:{content}",
        f"synthetic:mnist-v{version + 1}:{content}",
        f"synthetic:mnist_again-v{version}:{content}",
    ]
    assert len({each.path for each in refs}) == 3
