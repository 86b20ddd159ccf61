"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

# Time is not what properties are about, and two cores are shared: no deadline, and
# a slow generator is no failure.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("dev", max_examples=50, **_PATIENT)  # type: ignore[arg-type]
# CI finds the same on every machine and every run; new examples are found in dev.
settings.register_profile(
    "ci",
    max_examples=100,
    derandomize=True,
    print_blob=True,
    **_PATIENT,  # type: ignore[arg-type]
)
# The long job of CONTRIBUTING.md: as many as it is told, new ones at every run.
settings.register_profile(
    "long",
    max_examples=int(os.environ.get("TURNKEEP_EXAMPLES", "20000")),
    print_blob=True,
    **_PATIENT,  # type: ignore[arg-type]
)
_PROFILE = "ci" if os.environ.get("CI") == "true" else "dev"
settings.load_profile("long" if "TURNKEEP_EXAMPLES" in os.environ else _PROFILE)
