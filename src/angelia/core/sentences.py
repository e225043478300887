"""What the person reads when a turn has ended: what happened, and the next step."""

from typing import assert_never

from angelia.core import ending as end
from angelia.core.counts import counted
from angelia.core.principal import OWNER

_GO_ON = "Write “continue” to go on."
_RETRY = "Your message is kept: write “continue” to try again, or choose another model."

_NOT_AGAIN = "What it did so far stands, and it is not started again by itself."
_FATES = {
    end.WorkerFate.NOT_STARTED: "could not be started",
    end.WorkerFate.NOT_SPOKEN: "does not speak version 1 of the Agent Client Protocol",
    end.WorkerFate.LOGIN: "has no login where it runs",
    end.WorkerFate.REFUSED: "declined the task",
    end.WorkerFate.CUT_OFF: "ran into the length limit of its model",
    end.WorkerFate.OUT_OF_STEPS: "used all the steps that it may take",
    end.WorkerFate.CANCELLED: "says that it was stopped, and nobody has stopped it",
    end.WorkerFate.EMPTY: "says that it is done, and has said nothing",
    end.WorkerFate.UNFINISHED: "says that it is done while it waits for an answer",
    end.WorkerFate.FAILED: "failed",
    end.WorkerFate.SILENT: "was started and says nothing",
    end.WorkerFate.DIED: "ended in the middle of its work",
    end.WorkerFate.FLOODED: "sent more than can be taken in, so that it was ended",
    end.WorkerFate.NONSENSE: "sent what nobody can read, so that it was ended",
    end.WorkerFate.LOST: "ended together with a process of Angelia",
}

_UNLOST = "Nothing is lost."
_OPERATOR = "Whoever runs me"
_KEPT = "Your message is kept: write “continue” once that is done."


def sentence(ending: end.Ending) -> str:  # noqa: C901 - one closed table, one case a row
    """Whole sentences for one ending; empty only for a plain answer.

    >>> sentence(end.StepLimit(steps=90)).partition(".")[0]
    'Stopped after 90 model calls, the limit for one turn'
    """
    match ending:
        case end.Answered(note=note):
            return note
        case end.StayedSilent(why=why):
            return f"Nothing to tell: {why}"
        case end.Cancelled(by=by):
            stopped = "Stopped." if by == OWNER else f"Stopped by {by}."
            return f"{stopped} What was done so far is kept; write to go on."
        case end.Stalled(seconds=seconds):
            return f"Ended: nothing was heard of it for {_minutes(seconds)}. What was done so far is kept."
        case end.StepLimit(steps=steps):
            what = (
                f"Stopped after {counted(steps, 'model call')}, the limit for one turn. Everything done so far is kept."
            )
            return f"{what} {_GO_ON} --max-steps raises the limit."
        case end.BudgetSpent(what=what, spent=spent, cap=cap):
            reached = f"Stopped: {what} reached {spent}, and the cap is {cap}. Everything done so far is kept."
            return f"{reached} Raise the cap, or go on later."
        case end.ModelUnavailable():
            return _unavailable(ending)
        case end.ModelUnknown(model=model, said=said):
            unknown = f"The provider does not know the model {model}.{_quoted(said)}"
            return f"{unknown} `angelia models` lists what it has."
        case end.LoginNeeded(model=model, said=said):
            rejected = f"The key for {model} was rejected.{_quoted(said)}"
            return f"{rejected} Set a valid key, then write “continue”; `angelia doctor` checks it."
        case end.OutOfCredit(model=model, said=said):
            empty = f"The account for {model} is out of credit.{_quoted(said)}"
            return f"{empty} Top it up or choose another model, then write “continue”."
        case end.ContextFull(model=model, said=said):
            full = f"This conversation no longer fits {model}, as short as it can be made.{_quoted(said)} {_UNLOST}"
            return f"{full} Send a shorter message, start a new conversation, or choose a model with a larger window."
        case end.ModelRefusedMedia() | end.HistoryRefused() | end.WrongAddress() | end.Refused():
            return _refusal(ending)
        case end.NothingToSay(model=model, tries=tries, progress=progress):
            last = f" Its last words on the way were: “{progress}”" if progress else ""
            replies = counted(tries, "empty reply")
            return f"{model} stopped answering: {replies}.{last} {_GO_ON}"
        case end.ReplyCutOff(model=model, tries=tries):
            cut = f"{model} ran into its length limit {counted(tries, 'time')} in one reply."
            return f"{cut} What it wrote is above. {_GO_ON}"
        case end.ToolConfusion(model=model, tries=tries, said=said):
            confused = f"{model} called tools wrongly, {counted(tries, 'time')} in this turn.{_quoted(said)}"
            return f"{confused} Write “continue” to let it try again, or choose another model."
        case end.GoingInCircles(tool=tool, times=times):
            often = counted(times, "time")
            circles = f"Stopped: the same call of {tool} gave the same result {often}, even after a reminder."
            return f"{circles} Say what to do differently."
        case end.WorkerFailed(worker=worker, fate=fate, said=said):
            return f"{worker} {_FATES[fate]}.{_quoted(said)} {_NOT_AGAIN}"
        case end.Faulted():
            return _fault(ending)
        case _:
            assert_never(ending)


def _fault(ending: end.Faulted) -> str:
    if ending.no_files:
        return _no_files(ending.code)
    fault = f"Something went wrong inside Angelia ({ending.code}). Your message is kept."
    return f"{fault} Write “continue” to try again; `angelia doctor` says more."


def _no_files(code: str) -> str:
    files = f"Angelia had no open file left, so that this turn could not go on ({code}). Your message is kept."
    return f"{files} Write “continue” once other work is done, or raise the limit (`ulimit -n`)."


def sentence_in_chat(ending: end.Ending) -> str:
    """The same for somebody in a chat: who may be anybody, and has no command line at hand.

    >>> "angelia" in sentence_in_chat(end.LoginNeeded(model="openai:x", said=""))
    False
    """
    match ending:
        case end.Cancelled():
            return "Stopped. What was done so far is kept; write to go on."
        case end.StepLimit(steps=steps):
            return (
                f"I stopped after {counted(steps, 'step')}, the limit for one turn. All that was done is kept. {_GO_ON}"
            )
        case end.BudgetSpent():
            return f"I stopped: as much as may be spent is spent. All that was done is kept. {_OPERATOR} allows more."
        case end.ModelUnknown():
            return f"The model that I think with is not to be had any more. {_OPERATOR} chooses another one. {_KEPT}"
        case end.LoginNeeded():
            return f"The key to the model that I think with was rejected. {_OPERATOR} renews it. {_KEPT}"
        case end.OutOfCredit():
            return f"The account that pays for my thinking is empty. {_OPERATOR} tops it up. {_KEPT}"
        case end.WrongAddress():
            return f"The model that I think with is not where it was said to be. {_OPERATOR} corrects that. {_KEPT}"
        case end.Faulted(code=code, no_files=True):
            again = "Your message is kept: write “continue” to try again in a while."
            return (
                f"Too much is open here at once for me to go on. {again} Whoever runs me can raise the limit: {code}."
            )
        case end.Faulted(code=code):
            again = "Your message is kept: write “continue” to try again."
            return f"Something went wrong inside me. {again} If it happens again, tell whoever runs me: {code}."
        case _:
            return sentence(ending)


def _unavailable(ending: end.ModelUnavailable) -> str:
    if ending.died:
        ended = f"Angelia's own process ended {counted(ending.died, 'time')} while {ending.model} was asked."
        return f"{ended} It may be too much for this machine, so it is not tried again by itself. {_RETRY}"
    return f"{ending.model} did not answer after {counted(ending.tries, 'try')}.{_quoted(ending.said)} {_RETRY}"


def _refusal(ending: end.ModelRefusedMedia | end.HistoryRefused | end.WrongAddress | end.Refused) -> str:
    """What was asked is not answered: the request, or a part of it, was refused."""
    match ending:
        case end.ModelRefusedMedia(model=model, said=said):
            refused = f"{model} would not take the attached media.{_quoted(said)}"
            return f"{refused} Choose a model that takes it, or send it as text; the conversation goes on without it."
        case end.HistoryRefused(model=model, said=said, repaired=True):
            refused = f"{model} rejects this conversation's history, also told in other ways.{_quoted(said)}"
            return f"{refused} Try another model, or start a new conversation."
        case end.HistoryRefused(model=model, said=said):
            refused = f"{model} refuses the request.{_quoted(said)} It was sent once: the same again would be refused."
            return (
                f"{refused} Your message is kept: change what it names, or choose another model, then write “continue”."
            )
        case end.WrongAddress(model=model, said=said):
            return f"{model} cannot be asked: “{said}” Your message is kept: write “continue” once that is changed."
        case end.Refused(model=model, said=said):
            return f"{model} declined to answer.{_quoted(said)} Rephrase the request, or choose another model."
        case _:
            assert_never(ending)


def _quoted(said: str) -> str:
    return f" It said: “{said}”" if said else ""


def _minutes(seconds: int) -> str:
    return counted(seconds, "second") if seconds < 120 else f"{seconds // 60} minutes"
