"""Tags the wheel with the platform of the programs it carries; all else is in pyproject.toml."""
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class WheelWithPrograms(bdist_wheel):
    """A wheel for any Python 3 on one platform: the programs need that, and nothing of Python."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class DistributionWithPrograms(Distribution):
    """Not pure, though nothing is compiled here: `make wheel` puts the programs into tfmesos3/bin."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"bdist_wheel": WheelWithPrograms}, distclass=DistributionWithPrograms)
