"""Cases of known answers: a function that makes a trial and says which rules go over it and what each has to report."""
import math

CASES = []


def case(function):
    CASES.append(function)
    return function


def rule(name, rule_name, expected, **parameters):
    """`expected`: members of the rule's entry in the report, or a function of that entry."""
    return {"name": name, "rule": rule_name, "parameters": parameters}, expected


def fires(*steps, **more):
    return dict(more, steps=list(steps), status="IssuesFound" if steps else "NoIssuesFound")


def values(expected):
    """Findings as (step, value), to a relative 1e-12; the texts of NaN and infinities as they are."""
    def same(entry):
        found = [(f["step"], f["value"]) for f in entry["findings"]]
        return len(found) == len(expected) and all(
            a[0] == b[0] and (a[1] == b[1] or (not isinstance(a[1], str) and not isinstance(b[1], str) and
                                               math.isclose(a[1], b[1], rel_tol=1e-12)))
            for a, b in zip(found, expected))
    return same
