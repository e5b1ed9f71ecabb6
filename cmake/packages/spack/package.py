# Spack recipe of assay. Copy it to REPOSITORY/packages/assay/package.py of a repository of your own (`spack repo create`).
from spack.package import *


class Assay(CMakePackage):
    """Finds out what went wrong in large machine-learning trainings: reads recorded tensors in parallel under MPI, tests
    them with rules, and writes one report."""

    # No release is published yet: set `git` or `url` to where you keep the source.
    maintainers = []
    license("Apache-2.0")
    version("main", branch="main")
    version("0.2.0")

    variant("mpi", default=True, description="Run on several ranks")
    variant("hdf5", default=True, when="+mpi", description="Packed trials and results.h5")
    variant("curl", default=True, description="Notifications by webhook")
    variant("zstd", default=True, description="Zip files compressed by Zstandard")
    variant("sqlite", default=True, description="MLflow's databases")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cjson")
    depends_on("pcre2")
    depends_on("zlib-api")
    depends_on("mpi", when="+mpi")
    depends_on("hdf5@1.10:+mpi", when="+hdf5")
    depends_on("curl@7.85:", when="+curl")
    depends_on("zstd@1.4:", when="+zstd")
    depends_on("sqlite@3.38:", when="+sqlite")

    def cmake_args(self):
        return [
            self.define_from_variant("ASSAY_WITH_MPI", "mpi"),
            self.define_from_variant("ASSAY_WITH_HDF5", "hdf5"),
            self.define_from_variant("ASSAY_WITH_CURL", "curl"),
            self.define_from_variant("ASSAY_WITH_ZSTD", "zstd"),
            self.define_from_variant("ASSAY_WITH_SQLITE", "sqlite"),
            self.define("ASSAY_BUILD_TESTS", False),
        ]

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.share.assay.python)
