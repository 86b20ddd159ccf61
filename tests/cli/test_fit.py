"""Tests for `turnkeep fit`."""

import gzip
import json
from pathlib import Path
from typing import Any

import turnkeep
from tests.cli.running import EXAMPLE, PENDING, chat, run
from turnkeep.cli._json import dumps


def body() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(EXAMPLE.read_text())
    return value


def test_writes_what_the_library_returns(tmp_path: Path) -> None:
    """The command is the function, on files."""
    output = tmp_path / "out.json"

    result = run("fit", EXAMPLE, "-n", "3500", "--pin", "1", "-o", output)

    assert result.exit_code == 0, result.stderr
    expected = turnkeep.fit(body(), max_tokens=3500, pinned=[1])
    assert json.loads(output.read_text()) == expected
    assert result.stdout == ""
    assert "build-engineer.json: 7," in result.stderr


def test_the_report_says_what_went_and_why() -> None:
    """Causes, tokens, and what was added."""
    result = run("fit", EXAMPLE, "-n", "3500")

    assert "keeps" in result.stderr
    assert "drops" in result.stderr
    assert f"a stand-in for the open call run_nightly ({PENDING})" in result.stderr


def test_stdin_to_stdout() -> None:
    """`-` reads stdin; without an output file the list goes to stdout."""
    result = run("fit", "-", "-n", "8k", stdin=json.dumps(chat()))

    assert json.loads(result.stdout) == chat()
    assert result.stderr.startswith("stdin: ")


def test_a_models_own_window_is_the_default() -> None:
    """Without `--max-tokens` the model says how much there is."""
    result = run("fit", EXAMPLE, "-q")

    assert result.exit_code == 0, result.stderr
    assert len(json.loads(result.stdout)["messages"]) == 46


def test_several_stand_ins_are_summed_up() -> None:
    """Three are named, the rest is counted."""
    history: list[dict[str, Any]] = []
    for nth in range(5):
        function = {"name": "wait", "arguments": "{}"}
        call = {"id": f"call_{nth}", "type": "function", "function": function}
        history.append({"role": "user", "content": "Go."})
        history.append({"role": "assistant", "content": None, "tool_calls": [call]})
    history.append({"role": "user", "content": "Well?"})

    result = run("fit", "-", "-n", "8k", stdin=json.dumps(history))

    assert "5 stand-ins for open calls: wait (call_0), wait (call_1), " in result.stderr


def test_what_a_strategy_adds_is_reported() -> None:
    """A digest of what went is named with its first words."""
    strategy = "digest | oldest-turns"

    result = run("fit", EXAMPLE, "-n", "3500", "--strategy", strategy)

    assert "adds" in result.stderr
    assert "digest: " in result.stderr


def test_calls_in_the_way_name_the_way_out() -> None:
    """Where open calls fill the budget, the line says how to let them go."""
    function = {"name": "write", "arguments": json.dumps({"text": "long " * 900})}
    call = {"id": "c1", "type": "function", "function": function}
    history = chat(2)
    history[2] = {"role": "assistant", "content": None, "tool_calls": [call]}

    pending = run("fit", "-", "-n", "500", stdin=json.dumps(history))
    free = run("fit", "-", "-n", "500", "--no-pending", stdin=json.dumps(history))

    assert pending.exit_code == 3
    assert pending.stderr.endswith("any more: --no-pending.\n")
    assert free.exit_code == 0


def test_a_strategy_that_offers_too_little_names_the_way_out() -> None:
    """Where another strategy could go on, the line says how."""
    raising = ("--on-overflow", "raise")
    result = run("fit", EXAMPLE, "-n", "3500", "--strategy", "strip-thinking", *raising)

    assert result.exit_code == 3
    assert "| oldest-turns | oldest-steps" in result.stderr
    assert "--strategy" not in run("fit", EXAMPLE, "-n", "100").stderr


def test_quiet_says_nothing_on_stderr() -> None:
    """For scripts."""
    result = run("fit", "-", "-n", "8k", "-q", stdin=json.dumps(chat()))

    assert result.stderr == ""
    assert json.loads(result.stdout) == chat()


def test_gzip_in_and_out(tmp_path: Path) -> None:
    """Packed input is recognised; a name in `.gz` packs the output."""
    source, output = tmp_path / "in.gz", tmp_path / "out.json.gz"
    source.write_bytes(gzip.compress(dumps(chat())))

    result = run("fit", source, "-n", "8000", "-o", output)

    assert result.exit_code == 0, result.stderr
    assert json.loads(gzip.decompress(output.read_bytes())) == chat()


def test_json_report_holds_the_messages() -> None:
    """With `--json` stdout is one JSON document, the list in it."""
    result = run("fit", EXAMPLE, "-n", "3500", "--json")

    report = json.loads(result.stdout)
    assert result.stderr == ""
    assert report["format"] == "openai"
    assert report["tokens"] <= 3500 < report["tokens_before"]
    assert report["messages"] == turnkeep.fit(body(), max_tokens=3500)
    dropped = [run for run in report["runs"] if run["action"] == "drop"]
    assert sum(r["stop"] - r["start"] for r in dropped) == report["dropped"] > 0
    assert [item["call_id"] for item in report["inserted"]] == [PENDING]


def test_json_report_beside_a_file(tmp_path: Path) -> None:
    """With an output file the list is there and not in the report."""
    output = tmp_path / "out.json"

    result = run("fit", EXAMPLE, "-n", "3500", "--json", "-o", output)

    assert "messages" not in json.loads(result.stdout)
    assert json.loads(output.read_text())["messages"]


def test_does_not_fit(tmp_path: Path) -> None:
    """Code 3, the smallest budget that works, nothing written; and it does work."""
    output = tmp_path / "out.json"

    result = run("fit", EXAMPLE, "-n", "100", "-o", output, "--json")

    assert result.exit_code == 3
    error = json.loads(result.stdout)["error"]
    assert error["type"] == "BudgetExceededError"
    assert {held["cause"] for held in error["held"]} >= {"tools", "question"}
    assert f"at least {error['smallest']}" in result.stderr
    assert not output.exists()
    assert run("fit", EXAMPLE, "-n", error["smallest"], "-q").exit_code == 0
    assert run("fit", EXAMPLE, "-n", error["smallest"] - 1, "-q").exit_code == 3


def test_reserve_and_target_cut_deeper() -> None:
    """Room for the answer is kept free; a target cuts further down."""
    plain = json.loads(run("fit", EXAMPLE, "-n", "5000", "--json").stdout)
    reserved = json.loads(
        run("fit", EXAMPLE, "-n", "5000", "--reserve", "2k", "--json").stdout
    )
    deep = json.loads(
        run("fit", EXAMPLE, "-n", "5000", "--target", "0.3", "--json").stdout
    )

    assert plain["tokens"] > 3000 >= reserved["tokens"]
    assert deep["tokens"] < plain["tokens"]


def test_no_pending_lets_an_abandoned_call_go() -> None:
    """A call nobody waits for is an ordinary step."""
    held = run("fit", EXAMPLE, "-n", "2000", "-q").stdout
    free = run("fit", EXAMPLE, "-n", "2000", "-q", "--no-pending").stdout

    assert PENDING in held
    assert PENDING not in free


def test_pending_names_the_awaited_calls() -> None:
    """Naming the one open call is the default."""
    named = run("fit", EXAMPLE, "-n", "2000", "-q", "--pending", PENDING)

    assert named.stdout == run("fit", EXAMPLE, "-n", "2000", "-q").stdout


def test_open_calls_may_be_an_error() -> None:
    """`--open-calls raise` is for those who expect none."""
    result = run("fit", EXAMPLE, "-n", "3500", "--open-calls", "raise")

    assert result.exit_code == 2
    assert f"open calls: {PENDING}" in result.stderr


def test_invalid_results_may_be_an_error() -> None:
    """`--on-invalid raise` refuses what would be mended."""
    orphan = [*chat(), {"role": "tool", "tool_call_id": "call_x", "content": "42"}]

    mended = run("fit", "-", "-n", "8k", stdin=json.dumps(orphan))
    refused = run(
        "fit", "-", "-n", "8k", "--on-invalid=raise", stdin=json.dumps(orphan)
    )

    assert json.loads(mended.stdout) == chat()
    assert refused.exit_code == 2
    assert "call_x" in refused.stderr


def test_drop_system_spares_the_leading_ones() -> None:
    """A system message in the middle may go; the first one may not."""
    history = chat(8)
    history.insert(3, {"role": "system", "content": "In the middle. " * 50})

    kept = run("fit", "-", "-n", "500", stdin=json.dumps(history))
    dropped = run("fit", "-", "-n", "500", "--drop-system", stdin=json.dumps(history))

    assert "In the middle" in kept.stdout
    assert "In the middle" not in dropped.stdout
    assert "Be short." in dropped.stdout


def test_a_strategy_by_name() -> None:
    """The library's own, as people type them."""
    result = run("fit", EXAMPLE, "-n", "3500", "-q", "--strategy", "oldest-steps")

    expected = turnkeep.fit(body(), max_tokens=3500, strategy=turnkeep.OldestSteps())
    assert json.loads(result.stdout) == expected


def test_strategies_in_a_row() -> None:
    """`a | b` is the library's own composition."""
    result = run(
        "fit", EXAMPLE, "-n", "3500", "-q", "--strategy", "oldest-turns | oldest-steps"
    )

    assert json.loads(result.stdout) == turnkeep.fit(body(), max_tokens=3500)


def test_an_estimate_says_how_far_it_may_be_off() -> None:
    """A model without a public tokenizer gets a margin, and it is shown."""
    result = run("fit", EXAMPLE, "-n", "8k", "-m", "claude-sonnet-4-5", "-f", "openai")

    assert "(estimated, up to " in result.stderr


def test_pin_scope_step_holds_less() -> None:
    """A pinned step is held without the rest of its turn."""
    turn = run("fit", EXAMPLE, "-n", "3000", "-q", "--pin", "7")
    step = run("fit", EXAMPLE, "-n", "3000", "-q", "--pin", "7", "--pin-scope", "step")

    question = "The nightly build was red"
    assert question in turn.stdout
    assert question not in step.stdout
    assert "Where a parcel is" in step.stdout
