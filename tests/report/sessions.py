"""Sessions for the tests of reports, invented or recorded."""

from typing import Any

from tests.paths import read_corpus
from turnkeep.budgets import Budget
from turnkeep.cli._files import Source
from turnkeep.cli._request import Request, load
from turnkeep.report import Study, page, play

PAYLOADS = (
    "</script><script>window.pwned = 1</script>",
    "</title></style><script>window.pwned = 2</script>",
    "<img src=x onerror='window.pwned = 3'>",
    '" onmouseover="window.pwned = 4" x=\'',
    "' autofocus onfocus='window.pwned = 5' x=\"",
    "--><svg/onload=window.pwned=6><!--",
    "\u2028window.pwned = 7\u2029//\nwindow.pwned = 8",
    "{{ 7 * 7 }}{% raw %}${window.pwned = 9}{rich|text}",
    "javascript:window.pwned=10",
    "<a href='https://example.org/leak'>x</a><iframe src='https://example.org/'></iframe>",
    "\ud800 lone \udfff\x00\x1b[31m",
)
"""What has run in somebody's page before."""


def hostile() -> dict[str, Any]:
    """A request whose every text is an attack: contents, ids, tools, arguments."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": PAYLOADS[0]}]
    for nth, payload in enumerate(PAYLOADS):
        call = f"call-{nth}-{payload}"
        messages += [
            {"id": f"{nth}{payload}", "role": "user", "content": payload},
            {
                "role": "assistant",
                "content": payload,
                "tool_calls": [
                    {
                        "id": call,
                        "type": "function",
                        "function": {"name": payload, "arguments": payload},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": call, "content": payload},
        ]
    return {"model": "gpt-4o", "messages": messages}


def agent(turns: int, loops: int = 4, size: int = 30) -> list[dict[str, Any]]:
    """An invented agent: *turns* questions, each answered after *loops* tool calls."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You fix builds."}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Question {turn}: " + "why " * 12})
        for loop in range(loops):
            call = f"call_{turn}_{loop}"
            name = ("read_file", "run_tests", "search")[loop % 3]
            messages += [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": call,
                            "type": "function",
                            "function": {"name": name, "arguments": f'{{"n":{loop}}}'},
                        }
                    ],
                },
                {
                    "role": "tool",
                    "tool_call_id": call,
                    "content": f"line {turn}.{loop}\n" * size,
                },
            ]
        messages.append({"role": "assistant", "content": f"Answer {turn}: it builds."})
    return messages


def recorded(format_name: str, name: str = "") -> Any:
    """The longest recorded history of a format whose source or name has *name*."""
    records = [r for r in read_corpus(format_name) if name in r["name"] + r["source"]]
    body = max((record["body"] for record in records), key=_length)
    return body["lines"] if format_name == "claude-code" else body


def _length(body: Any) -> int:
    if isinstance(body, list):
        return len(body)
    return max((len(v) for v in body.values() if isinstance(v, list)), default=0)


def opened(
    body: Any, name: str = "chat.json", format_name: str | None = None
) -> Request:
    """*body* as the command line opens a file."""
    return load(Source(name, body, size=0), format_name, None)


def study(
    body: Any,
    max_tokens: int | None = None,
    pins: tuple[str, ...] = (),
    *,
    name: str = "chat.json",
    format_name: str | None = None,
    **options: Any,
) -> Study:
    """A study with a plan and a session, where there is a budget."""
    request = opened(body, name, format_name)
    survey = request.survey(pins)
    if max_tokens is None:
        return Study(name, survey, request.model)
    budget = Budget(max_tokens, **options)
    plan = request.plan(budget=budget, pinned=pins, on_overflow="send")
    session = play(survey, budget, model=request.model, tools=request.envelope.tools)
    return Study(
        name, survey.with_plan(plan), request.model, budget, plan, session=session
    )


def written(body: Any, max_tokens: int | None = None, **options: Any) -> str:
    """The page of a study."""
    return page(study(body, max_tokens, **options))
