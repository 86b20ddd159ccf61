"""Tests for `turnkeep replay`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import EXAMPLE, chat, run, save
from turnkeep import Budget
from turnkeep.replay import FULL, SLIDING, replay, total
from turnkeep.strategies import DEFAULT


def strategies(*args: object) -> dict[str, dict[str, Any]]:
    """The outcomes of a replay, by name."""
    report = json.loads(run("replay", *args, "--json").stdout)
    return {outcome["name"]: outcome for outcome in report["strategies"]}


def test_the_figures_are_the_librarys() -> None:
    """The command is the function, on files."""
    found = strategies(EXAMPLE, "-n", "1000", "-s", "chat")
    report = replay(json.loads(EXAMPLE.read_text()), {"chat": DEFAULT}, Budget(1_000))

    assert list(found) == [FULL, SLIDING, "chat"]
    assert found["chat"]["cost"] == report.outcome("chat").cost
    assert found["chat"]["whole"] == report.outcome("chat").whole


def test_without_a_strategy_five_are_compared() -> None:
    """The named ones and those with a digest among them."""
    found = strategies(EXAMPLE, "-n", "1k")

    assert set(found) == {
        FULL,
        SLIDING,
        "chat",
        "memory",
        "agent",
        "least-recently-referenced",
        "digest | least-recently-referenced",
    }


def test_targets_are_compared_in_one_table_by_cost() -> None:
    asked = (EXAMPLE, "-n", "2k", "-s", "chat", "-s", "agent")
    found = strategies(*asked, "--target", "0.5", "--target", "0.8")
    shown = run("replay", *asked, "--target", "0.5", "--target", "0.8").stdout
    rows = [line for line in shown.splitlines() if re.search(r"\d%$", line)]
    costs = [float(re.findall(r" (\d\.\d{3}) ", row)[0]) for row in rows]

    assert list(found)[2:] == [
        "chat @ 0.5",
        "agent @ 0.5",
        "chat @ 0.8",
        "agent @ 0.8",
    ]
    assert found["chat @ 0.5"]["target"] == 1_000
    assert found["chat @ 0.8"]["target"] == 1_600
    assert len(rows) == 6
    assert costs == sorted(costs)
    assert "cut to 1,000, 1,600" in shown


def test_what_to_take_and_what_it_loses_are_said() -> None:
    shown = run("replay", EXAMPLE, "-n", "2k", "-s", "chat").stdout
    told = json.loads(run("replay", EXAMPLE, "-n", "2k", "-s", "chat", "--json").stdout)
    chat_of_file = told["files"][0]["strategies"][-1]

    assert "cheapest within 1 point of the best: chat (" in shown
    assert "95 % interval" in shown
    assert told["advice"] == "chat"
    assert told["judged_by"] == "whole"
    low, high = chat_of_file["whole_interval"]
    assert low <= chat_of_file["whole"] <= high
    assert chat_of_file["mean"] == pytest.approx(
        chat_of_file["tokens"] / chat_of_file["calls"], abs=1
    )
    first = chat_of_file["lost"][0]
    assert f"{first['name']}: call {first['call']} (message" in shown
    assert int(first["source"]) < int(first["message"])
    assert first["name"] in chat_of_file["each"][first["call"]]["missing"]
    assert sum(one["tokens"] for one in chat_of_file["each"]) == chat_of_file["tokens"]


def test_a_session_that_fits_needs_nothing() -> None:
    assert "nothing needs to go" in run("replay", EXAMPLE, "-n", "100k").stdout


def memories() -> list[dict[str, Any]]:
    """A chat without tools that comes back to what was said at its beginning."""
    made: list[dict[str, Any]] = [
        {"role": "user", "content": "My zeppelin is called Orion. " + "la " * 30},
        {"role": "assistant", "content": "A fine name. " + "oh " * 30},
    ]
    for nth in range(12):
        made.append({"role": "user", "content": f"tell {nth} more " * 10})
        made.append({"role": "assistant", "content": "and so on " * 20})
    made.append({"role": "user", "content": "What was my zeppelin called?"})
    made.append({"role": "assistant", "content": "Orion."})
    return made


def test_chats_without_tools_have_a_recall_figure(tmp_path: Path) -> None:
    file = save(tmp_path / "chat.json", memories())
    asked = (file, "-n", "300", "-s", "chat", "-s", "relevance")
    found = strategies(*asked)
    shown = run("replay", *asked, "--html", tmp_path / "page.html").stdout

    assert found[FULL]["questions"] == 1
    assert found[FULL]["recalled"] == 1.0
    assert found["chat"]["recalled"] == 0.0
    assert found["relevance"]["recalled"] == 1.0
    assert re.search(r"strategy .* found +recall$", shown, re.MULTILINE)
    assert "cheapest within 1 point of the best: relevance" in shown
    assert "questions with all of it" in (tmp_path / "page.html").read_text()


def test_expected_answers_are_looked_for(tmp_path: Path) -> None:
    """A question of the session, one by its end, and one that needs what is new."""
    chat_file = save(tmp_path / "chat.json", memories())
    expected = save(
        tmp_path / "expected.json",
        [
            {"question": 26, "messages": [0]},
            {"question": "How is the zeppelin called?", "messages": [0, 1]},
            {"question": "What was that?", "messages": [27]},
        ],
    )
    asked = (chat_file, "-n", "300", "-s", "chat", "--expect", expected)
    found = strategies(*asked)
    shown = run("replay", *asked).stdout
    told = json.loads(run("replay", *asked, "--json").stdout)

    assert found[FULL]["recalled"] == 1.0
    assert found["chat"]["questions"] == 3
    assert found["chat"]["recalled"] == pytest.approx(1 / 3)
    assert found["chat"]["found"] == pytest.approx(1 / 4)
    assert "of 4 messages that were expected" in shown
    assert [one["name"] for one in told["files"][0]["strategies"][2]["lost"]] == [
        "0",
        "0",
        "1",
    ]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"question": "x"}, "a list of questions is expected"),
        (["x"], r"a question is an object .* @ \$\[0\]"),
        ([{"question": None, "messages": [1]}], r"@ \$\[0\].question"),
        ([{"question": "a", "messages": []}], r"@ \$\[0\].messages"),
        ([{"question": "a", "messages": [True]}], r"@ \$\[0\].messages\[0\]"),
        ([{"question": "a", "messages": ["m99"]}], "m99"),
        ([{"question": 2, "messages": [1]}], "is a message, but not a user's"),
    ],
)
def test_a_file_of_something_else_expects_nothing(
    tmp_path: Path, value: Any, why: str
) -> None:
    expected = save(tmp_path / "expected.json", value)

    result = run("replay", EXAMPLE, "-n", "1k", "--expect", expected)

    assert result.exit_code == 2
    assert re.search(why, result.stderr.replace("\n", " "))


def test_a_question_that_nobody_has_answered_yet_is_asked_at_the_end(
    tmp_path: Path,
) -> None:
    """The last message of a session; no answer follows."""
    said = [*memories(), {"role": "user", "content": "And my zeppelin?"}]
    file = save(tmp_path / "chat.json", said)
    expected = save(tmp_path / "e.json", [{"question": 28, "messages": [0]}])

    asked = (file, "-n", "300", "-s", "chat", "-s", "relevance", "--expect", expected)
    found = strategies(*asked)

    assert found[FULL]["recalled"] == 1.0
    assert found["chat"]["recalled"] == 0.0


def test_many_lost_names_are_counted_and_files_named(tmp_path: Path) -> None:
    """Five of them are listed; of several sessions, with the file."""
    chat_file = save(tmp_path / "chat.json", memories())
    names = [{"question": "What?", "messages": list(range(7))}]
    expected = save(tmp_path / "e.json", names)
    one = ("replay", chat_file, "-n", "300", "-s", "chat")

    assert "and 2 more: --json" in run(*one, "--expect", expected).stdout
    assert "chat.json, call 13" in run(*one, chat_file).stdout


def test_what_is_expected_is_for_one_session(tmp_path: Path) -> None:
    expected = save(tmp_path / "e.json", [{"question": "a", "messages": [1]}])

    result = run("replay", EXAMPLE, EXAMPLE, "-n", "1k", "--expect", expected)

    assert result.exit_code == 2
    assert "one session" in result.stderr


def test_a_session_in_another_format_is_an_error_not_zeros(tmp_path: Path) -> None:
    """Read as OpenAI's, Anthropic's calls would be unknown blocks that use nothing."""
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a/b.py"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "see order_4711"}
    file = save(
        tmp_path / "chat.json",
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        ],
    )

    wrong = run("replay", file, "-n", "1k", "--format", "openai")

    assert wrong.exit_code == 2
    assert "it is anthropic" in wrong.stderr
    assert run("replay", file, "-n", "1k", "--format", "anthropic").exit_code == 0


def test_the_table_and_the_chart_are_for_people() -> None:
    shown = run("replay", EXAMPLE, "-n", "1000").stdout

    assert re.search(r"chat +0?\.?\d+\.\d\d", shown)
    assert "whole" in shown
    assert re.search("[▁▂▃▄▅▆▇█]{5}", shown)


def test_plain_terminals_get_plain_marks() -> None:
    shown = run(
        "replay", EXAMPLE, "-n", "1000", env={"PYTHONIOENCODING": "ascii"}
    ).stdout

    assert "chat" in shown


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    file = save(tmp_path / "chat.json", chat())

    assert "did not fit under chat" in run("replay", file, "-n", "10").stdout


def test_several_sessions_are_added_up(tmp_path: Path) -> None:
    file = save(tmp_path / "chat.json", chat())
    report = json.loads(run("replay", file, EXAMPLE, "-n", "500", "--json").stdout)

    assert len(report["files"]) == 2
    assert report["calls"] == sum(one["calls"] for one in report["files"])
    assert "2 sessions" in run("replay", file, EXAMPLE, "-n", "500").stdout


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "report.html"

    run(
        "replay",
        EXAMPLE,
        "-n",
        "1000",
        "-s",
        "oldest-turns & oldest-steps",
        "--html",
        page,
    )

    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "oldest-turns &amp; oldest-steps" in text
    assert text.count("<svg") == 2
    assert "http" not in text
    assert "<script" not in text


def test_prices_by_name_or_number() -> None:
    named = strategies(EXAMPLE, "-n", "1000", "--prices", "anthropic")
    numbers = strategies(EXAMPLE, "-n", "1000", "--prices", "0.1,1.25")
    other = strategies(EXAMPLE, "-n", "1000", "--prices", "openai-4o", "--when-it-pays")

    assert named == numbers
    assert named[FULL]["cost"] != other[FULL]["cost"]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--prices", "free"], "--prices"),
        (["--prices", "0,1"], "--prices"),
        (["--target", "2"], "--target"),
        (["-s", "nothing"], "not known"),
        (["-n", "0"], "--max-tokens"),
    ],
)
def test_bad_options_end_with_code_2(args: list[str], why: str) -> None:
    result = run("replay", EXAMPLE, "-n", "1000", *args)

    assert result.exit_code == 2
    assert why in result.stderr


def test_an_empty_session_is_no_fault(tmp_path: Path) -> None:
    file = save(tmp_path / "chat.json", [{"role": "user", "content": "hi"}])

    result = run("replay", file, "-n", "10")
    assert result.exit_code == 0
    assert "nothing to replay" in result.stdout
    assert run("replay", file, "-n", "10", "--html", tmp_path / "x.html").exit_code == 0


def test_reports_add_up_only_under_the_same_terms() -> None:
    one = replay(chat(), {"a": DEFAULT}, Budget(100))

    assert total([one, one]).outcome("a").cost == pytest.approx(
        2 * one.outcome("a").cost
    )
    with pytest.raises(ValueError, match="different terms"):
        total([one, replay(chat(), {"a": DEFAULT}, Budget(200))])
    with pytest.raises(ValueError, match="no report"):
        total([])


def test_a_chat_without_tools_has_nothing_to_keep(tmp_path: Path) -> None:
    """A share of nothing is a dash, for people; programs see that it is of none."""
    file, html = save(tmp_path / "chat.json", chat(12)), tmp_path / "x.html"

    shown = run("replay", file, "-n", "400", "-s", "chat", "--html", html)
    told = json.loads(run("replay", file, "-n", "400", "--json").stdout)

    (row,) = [line for line in shown.stdout.splitlines() if line.startswith("chat ")]
    assert row.split()[-2:] == ["-", "-"]
    assert "no call took an id, path or value" in shown.stdout
    assert "whole: of" not in shown.stdout
    assert html.read_text().count("<td>-</td><td>-</td></tr>") == 3
    assert {(o["referents"], o["steps"]) for o in told["strategies"]} == {(0, 0)}
