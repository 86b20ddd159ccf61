"""The manual's page on providers, written from the rule objects.

`python -m turnkeep.profiles._docs > docs/reference/providers.md` renews it; a test
compares the two.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from . import PROFILES, get_profile
from ._base import Profile, Rule

_ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")
_ADDRESS = re.compile(r"https?://\S+[^\s,;.)]")

_HEAD = """\
# Providers

What each provider's API demands of a message list, what trimming may break of it, and
what turnkeep does about it. `turnkeep check` and `check()` report these rules by their
numbers, with the place and the way out; `repair()` mends what can be mended; and every
window of a history that was accepted breaks no hard rule of its format and model.

- **Hard** rules: a request that breaks one is refused.
- **Soft** rules: the evidence differs, or it depends on the version. `check` reports
  them with `--strict`; windows keep them where they can.
- Rules marked *edit* compare a trimmed request with the one before it: `check` needs
  `--original` for them.

A profile is chosen by format and model: OpenAI's shape sent to a model of DeepSeek or
Mistral is judged by their rules. Local chat templates have no format of their own:
name `alternating`, or one of `alternating/gemma2`, `alternating/mistral`,
`alternating/llama3` and `alternating/qwen`, as the profile to check by. Windows are
finished for the profile of their format.

<!-- Written by `python -m turnkeep.profiles._docs`: change the rules instead. -->
"""


def providers_page() -> str:
    """The whole page, as Markdown."""
    sections = [_HEAD]
    sections += [
        _section(get_profile(name=name)) for name in PROFILES if "/" not in name
    ]
    return "\n".join(sections)


def _section(profile: Profile) -> str:
    hard = [rule for rule in profile.rules.values() if rule.hard]
    soft = [rule for rule in profile.rules.values() if not rule.hard]
    title = profile.title.removesuffix(" (any)")
    lines = [f"## {title}", "", f"Profile `{profile.name}`.", ""]
    lines += ["### What trimming may break there", ""]
    lines += [f"- {sentence}" for sentence in profile.trims]
    lines += ["", f"### Hard rules of {title}", "", *_table(hard)]
    lines += ["", f"### Soft rules of {title}", "", *_table(soft), ""]
    return "\n".join(lines)


def _table(rules: Iterable[Rule]) -> Iterator[str]:
    yield "| rule | what is demanded | the way out | the provider's words | source |"
    yield "| --- | --- | --- | --- | --- |"
    for rule in rules:
        number = f"{rule.number} *edit*" if rule.edit else rule.number
        what = rule.sentence
        if rule.models != "all":
            what += f" *Applies to: {rule.models}.*"
        error = f"`` {rule.error} ``" if rule.error else ""
        sources = "; ".join(map(_linked, rule.sources))
        cells = (number, what, rule.mend, error, sources)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _linked(source: str) -> str:
    source = _ADDRESS.sub(lambda found: f"<{found[0]}>", source)
    if "<" in source:
        return source
    return _ISSUE.sub(r"[\g<0>](https://github.com/\1/issues/\2)", source)


if __name__ == "__main__":
    sys.stdout.write(providers_page())
