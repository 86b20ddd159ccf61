"""Invented dialogues of two people over many days, with facts that somebody asks for.

Everything is made up here from short lists and a seed: no recorded text. The kinds of
facts are those that public benchmarks of long memory ask for: said in one message;
answered without the words of the question; told two messages after its subject was
named; on a certain day; said in several places.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import attrs

from turnkeep import Message

PEOPLE: Final = ("Ilva", "Torben")
SUBJECTS: Final = {
    "pottery class": ("bowl", "vase", "teapot", "lantern", "tile", "jug"),
    "marathon": ("knee", "medal", "pacer", "blister", "ribbon", "sponsor"),
    "garden": ("beans", "quinces", "slugs", "compost", "fence", "tulips"),
    "choir": ("solo", "requiem", "alto", "organist", "robe", "encore"),
    "sailing trip": ("mast", "fjord", "anchor", "storm", "island", "compass"),
    "cat": ("vet", "sofa", "collar", "kitten", "tuna", "balcony"),
    "job interview": ("manager", "salary", "portfolio", "elevator", "tie", "offer"),
    "new flat": ("landlord", "boiler", "attic", "deposit", "wallpaper", "keys"),
    "allotment": ("shed", "carrots", "council", "spade", "raspberries", "hose"),
    "chess club": ("gambit", "trophy", "rook", "clock", "draw", "captain"),
    "bakery": ("rye", "oven", "queue", "croissant", "apron", "sourdough"),
    "language course": ("verbs", "tutor", "exam", "accent", "notebook", "dialect"),
}
COLOURS: Final = (
    "amber",
    "teal",
    "crimson",
    "ivory",
    "violet",
    "olive",
    "copper",
    "indigo",
)
PLACES: Final = (
    "Lund",
    "Bergen",
    "Kaunas",
    "Porto",
    "Ghent",
    "Tartu",
    "Split",
    "Cork",
    "Graz",
    "Lviv",
)
SMALL: Final = (
    "How have you been lately?",
    "Honestly it was a long week and I slept badly.",
    "That sounds lovely, tell me more about it.",
    "I know what you mean, it is the same here.",
    "Ha, you always say that when it rains.",
    "We should meet for coffee one of these days.",
    "My sister called and we talked for an hour.",
    "Work has been busy, but I cannot complain.",
    "Wow, I am really happy for you!",
    "Did you sleep well after all of that?",
    "The weather has been strange this month.",
    "Thanks for listening, that means a lot to me.",
)
TALK: Final = (
    "I keep thinking about the {subject}, it takes up most of my evenings.",
    "The {subject} was fun today, though the {thing} gave us some trouble.",
    "Everybody at the {subject} is friendly and they lend me a {thing}.",
    "There was a {thing} again, you would have laughed.",
    "I might skip the {subject} next week and rest a little.",
    "Somebody brought a {thing} and we all had a look at it.",
)


@attrs.frozen
class Question:
    """What somebody asks at the end, and the messages that hold the answer."""

    kind: str
    text: str
    evidence: tuple[str, ...]


@attrs.frozen
class Dialogue:
    """What was said, and what is asked about it."""

    messages: tuple[Message, ...]
    questions: tuple[Question, ...]


class _Writer:
    """Writes one dialogue from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.at = datetime(2031, 1, 4, 9, tzinfo=UTC)
        self.messages: list[Message] = []
        self.questions: list[Question] = []
        self.told: dict[tuple[str, str], list[str]] = {}

    def say(self, who: int, text: str) -> str:
        make = Message.assistant if who else Message.user
        name = f"m{len(self.messages)}"
        extra = {"name": PEOPLE[who]}
        self.messages.append(make(text, id=name, timestamp=self.at, extra=extra))
        self.at += timedelta(seconds=self.rng.randint(20, 200))
        return name

    def chatter(self, subject: str, turns: int) -> None:
        for _ in range(turns):
            text = self.rng.choice((*SMALL, *TALK))
            if self.rng.random() < 0.4:
                text = f"{text} {self.rng.choice(SMALL)}"
            thing = self.rng.choice(SUBJECTS[subject])
            who = len(self.messages) % 2
            self.say(who, text.format(subject=subject, thing=thing))

    def session(self, nth: int) -> None:
        rng = self.rng
        self.at = datetime(2031, 1, 4, 9, tzinfo=UTC) + timedelta(
            days=nth * 11 + rng.randint(0, 9), minutes=rng.randint(0, 600)
        )
        subjects = rng.sample(list(SUBJECTS), 3)
        kinds = [self.said, self.answered, self.later, self.dated, self.several]
        rng.shuffle(kinds)
        for number, subject in enumerate(subjects):
            self.chatter(subject, rng.randint(4, 8))
            for kind in kinds[number::3]:
                kind(subject, rng.randrange(2))
                self.chatter(subject, rng.randint(1, 4))

    def detail(self, subject: str) -> tuple[str, str, str]:
        rng = self.rng
        things = SUBJECTS[subject]
        return rng.choice(COLOURS), rng.choice(things), rng.choice(PLACES)

    def said(self, subject: str, who: int) -> None:
        colour, thing, place = self.detail(subject)
        text = f"I finally got a {colour} {thing} for the {subject}, from {place}."
        found = self.say(who, text)
        asked = f"Where did {PEOPLE[who]} get the {colour} {thing}?"
        self.ask("said", asked, found)

    def answered(self, subject: str, who: int) -> None:
        colour, thing, place = self.detail(subject)
        self.say(1 - who, f"What was the best part of the {subject} with the {thing}?")
        found = self.say(who, f"Easily the {colour} one that we saw in {place}.")
        asked = (
            f"What was the best part of the {subject} with the {thing} for "
            f"{PEOPLE[who]}?"
        )
        self.ask("answered", asked, found)

    def later(self, subject: str, who: int) -> None:
        colour, thing, place = self.detail(subject)
        self.say(who, f"There is news about the {subject} and that {thing}.")
        self.say(1 - who, self.rng.choice(SMALL))
        found = self.say(who, f"They want to paint it {colour} and send it to {place}.")
        self.ask("later", f"What is the news about the {thing} of {subject}?", found)

    def dated(self, subject: str, who: int) -> None:
        colour, _, place = self.detail(subject)
        text = f"Today my cousin came over from {place} in a {colour} van."
        found = self.say(who, text)
        at = self.at
        day = self.rng.choice(
            (
                f"{at:%B} {at.day}, {at.year}",
                f"{at.day} {at:%b} {at.year}",
                f"{at:%Y-%m-%d}",
                f"{at.day}/{at.month}/{at.year}",
                f"the {at.day}th of {at:%B}",
            )
        )
        self.ask("dated", f"Who visited {PEOPLE[who]} on {day}?", found)

    def several(self, subject: str, who: int) -> None:
        _, thing, place = self.detail(subject)
        text = f"On Saturday we took the {thing} along and drove to {place} to skate."
        found = self.say(who, text)
        self.told.setdefault((PEOPLE[who], "skate"), []).append(found)

    def ask(self, kind: str, text: str, *evidence: str) -> None:
        self.questions.append(Question(kind, text, evidence))

    def ask_for_several(self) -> None:
        for (who, verb), found in self.told.items():
            for first, second in zip(found[::2], found[1::2], strict=False):
                places = [self.messages[int(m[1:])].text.split()[-3] for m in found]
                named = [places[found.index(one)] for one in (first, second)]
                text = f"With what did {who} {verb} in {named[0]} and in {named[1]}?"
                self.ask("several", text, first, second)


def dialogue(seed: int, sessions: int = 24) -> Dialogue:
    """One dialogue; the same for the same seed, on every machine."""
    writer = _Writer(seed)
    for nth in range(sessions):
        writer.session(nth)
    writer.ask_for_several()
    return Dialogue(tuple(writer.messages), tuple(writer.questions))


def dialogues(count: int, sessions: int = 24) -> Iterator[Dialogue]:
    """Several of them."""
    return (dialogue(seed, sessions) for seed in range(count))
