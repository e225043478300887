"""Every yes is asked at your keyboard:  python approve.py FOLDER 'Tidy up the drafts.'."""

import sys

from angelia import BlockingAgent, No, Question, Scope, Yes


def approve(question: Question) -> Yes | No:
    """Show a question whole, and take the answer."""
    print(f"\n{question.text}\n{question.whole}\n{question.why}".rstrip())
    for number, choice in enumerate(question.choices, 1):
        print(f"  {number}  {choice}")
    if question.own:
        return Yes(answer=input("your answer: "))
    always = f", a = always: {question.remember}" if question.remember else ""
    match input(f"y = yes{always}, or why not: ").strip():
        case "y":
            return Yes()
        case "a" if question.remember:
            return Yes(Scope.CONVERSATION)
        case why:
            return No(why)


with BlockingAgent(workspace=sys.argv[1], approve=approve, settings={"policy.mode": "ask"}) as agent:
    print(agent.ask(sys.argv[2]))
