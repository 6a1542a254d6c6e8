"""Slots condensed, looked up, reordered, followed, recovered, reset: right, and as such code has gone wrong."""

import itertools

import numpy as np
import paddle
import pytest

from opgold.harness.glue.reset import check_reset
from opgold.harness.glue.slots import check_condense, check_follow, check_recover, check_reorder, check_slot_for
from opgold.harness.glue.snapshot import Held
from opgold.reference.glue import slots
from opgold.reference.glue.groups import Groups, Side

GROUPS = Groups(frozenset({"rows", "names"}))


def said(departures):
    return [str(departure) for departure in departures]


def batch_of(slot_map, count=8):
    return {
        "rows": np.arange(10, 10 + count),
        "names": [f"row {slot}" for slot in range(count)],
        "index_to_batch_id": dict(slot_map),
    }


MAPS = ({0: 7, 5: 8}, {0: 0, 2: 2}, {1: 4, 2: 5}, {0: 1, 1: 0}, {}, {7: 3, 3: 1, 4: 2})


@pytest.mark.parametrize("slot_map", MAPS)
def test_condense(slot_map):
    batch = batch_of(slot_map)
    assert check_condense(lambda: slots.condense(Side(batch, GROUPS)), Held(batch, GROUPS)) == []
    assert sorted(batch["index_to_batch_id"]) == list(range(len(slot_map)))
    assert list(dict(sorted(batch["index_to_batch_id"].items())).values()) == [slot_map[s] for s in sorted(slot_map)]


def test_condense_without_a_map():
    with pytest.raises(ValueError, match="index_to_batch_id: is not there"):
        slots.condense(Side({"rows": np.arange(3)}, GROUPS))


def condense_by_counts(batch, running):
    """Returns early where counts agree, and takes the slots below the count to be there."""
    slot_map = batch["index_to_batch_id"]
    if len(slot_map) == running:
        return
    for slot in range(running):
        slot_map[slot]


@pytest.mark.parametrize(
    ("slot_map", "running", "report"),
    [
        ({0: 7, 5: 8}, 2, "index_to_batch_id: {0: 7, 5: 8}, expected {0: 7, 1: 8}"),
        ({1: 4, 2: 5}, 4, "condense: raises KeyError: 0"),
    ],
)
def test_condense_by_counts(slot_map, running, report):
    batch = batch_of(slot_map)
    assert said(check_condense(lambda: condense_by_counts(batch, running), Held(batch, GROUPS))) == [report]


def test_condense_that_leaves_a_list():
    batch = batch_of({0: 7, 5: 8})

    def planted():
        names = list(batch["names"])
        slots.condense(Side(batch, GROUPS))
        batch["names"][:] = names

    (found,) = said(check_condense(planted, Held(batch, GROUPS)))
    assert found == "names[1]: 'row 1', expected 'row 5', request 8's of slot 5"


def test_condense_with_a_proposer_that_has_no_map():
    target, proposer = batch_of({0: 7, 5: 8}), {"rows": np.arange(8)}
    sides = Side(target, GROUPS), Side(proposer, GROUPS)
    held = Held(target, GROUPS), Held(proposer, GROUPS, "proposer.")
    assert check_condense(lambda: slots.condense(*sides), *held) == []
    target["index_to_batch_id"].clear()
    target["index_to_batch_id"].update({1: 7})
    assert said(check_condense(lambda: slots.condense(sides[0]), *held)) == [
        "proposer.rows[0]: 0, expected 5, request 7's of slot 1"
    ]


def slot_by_count(slot_map):
    """Enters the next slot by the map's length where the request's number is taken, but returns the number."""

    def slot_for(request):
        if request in slot_map:
            slot_map[len(slot_map)] = request
        else:
            slot_map[request] = request
        return request

    return slot_for


def test_slot_for():
    slot_map = {0: 3, 1: 0}
    assert check_slot_for(lambda r: slots.slot_for(r, slot_map, 4), slot_map, [1, 3, 1, 9], 4) == []
    assert slot_map == {0: 3, 1: 0, 2: 1, 3: 9}
    with pytest.raises(ValueError, match="request 5: all 4 slots are taken"):
        slots.slot_for(5, slot_map, 4)


def test_a_slot_that_is_entered_but_not_returned():
    slot_map = {0: 3, 1: 0}
    assert said(check_slot_for(slot_by_count(slot_map), slot_map, [1], 4)) == [
        "slot of request 1: 1, which is request 0's, expected 2 or 3",
        "slot of request 1: returned 1, but the map says 2",
    ]


def test_a_slot_by_the_length_of_a_sparse_map():
    slot_map = {1: 5, 2: 6}

    def planted(request):
        slot = len(slot_map)
        slot_map[slot] = request
        return slot

    assert said(check_slot_for(planted, slot_map, [9], 4)) == [
        "slot of request 9: 2, which is request 6's, expected 0 or 3",
        "slot 2: lost request 6 to request 9",
    ]


def test_reorder_of_all_patterns_up_to_six_slots():
    for count in range(1, 7):
        for prefills in itertools.product((False, True), repeat=count):
            batch = batch_of({slot: slot + 20 for slot in range(count)}, count)
            found = check_reorder(
                lambda p=prefills, b=batch: slots.reorder(p, Side(b, GROUPS)), prefills, Held(batch, GROUPS)
            )
            assert found == [], prefills


def test_reorder_by_the_mask_that_it_moves():
    """Reads the mask again after each swap of rows, from a mask that does not move."""
    prefills = [True, True, False, False, False]
    batch = batch_of(dict(enumerate("abcde")), 5)

    def planted():
        for slot in range(4):
            if prefills[slot] and not prefills[slot + 1]:
                slots.swap_states(slot, slot + 1, Side(batch, GROUPS))

    assert said(check_reorder(planted, prefills, Held(batch, GROUPS))) == [
        "slot 1: has no prompt chunk, expected before slot 0, which has one"
    ]


def test_reorder_with_an_idle_slot():
    prefills = [True, False, False]
    batch = batch_of({0: "a", 2: "c"}, 3)
    assert said(check_reorder(lambda: None, prefills, Held(batch, GROUPS))) == [
        "slot 1: has no prompt chunk, expected before slot 0, which has one"
    ]
    assert check_reorder(lambda: slots.reorder(prefills, Side(batch, GROUPS)), prefills, Held(batch, GROUPS)) == []
    assert batch["index_to_batch_id"] == {2: "a", 0: "c"}


def test_follow():
    target = {"index_to_batch_id": {0: 3, 1: 1, 2: 2}}
    for own in ({0: 1, 1: 2, 2: 3}, {0: 1, 1: 3, 4: 2, 5: 9}):
        proposer = batch_of(own)
        sides = Held(target, GROUPS), Held(proposer, GROUPS, "proposer.")
        assert check_follow(lambda p=proposer: slots.follow(target["index_to_batch_id"], Side(p, GROUPS)), *sides) == []
        assert proposer["index_to_batch_id"] == target["index_to_batch_id"]
    with pytest.raises(ValueError, match="lacks request 3 of slot 0"):
        slots.follow({0: 3}, Side(batch_of({}), GROUPS))


def test_follow_that_takes_the_map_alone():
    target, proposer = {"index_to_batch_id": {0: 3, 1: 1}}, batch_of({0: 1, 1: 3})
    found = check_follow(
        lambda: proposer["index_to_batch_id"].update({0: 3, 1: 1}), Held(target, GROUPS), Held(proposer, GROUPS)
    )
    assert said(found) == [
        "names[0]: 'row 0', expected 'row 1', request 3's of slot 1",
        "rows[0]: 10, expected 11, request 3's of slot 1",
    ]


OUTPUTS = {"tokens": np.array([[5], [6], [7], [8]]), "texts": ["five", "six", "seven", "eight"]}
SLOTS = {0: 2, 1: 0, 2: 1}


def test_recover():
    right = slots.recover(OUTPUTS, SLOTS)
    assert right["tokens"].ravel().tolist() == [6, 7, 5]
    assert right["texts"] == ["six", "seven", "five"]
    assert check_recover(lambda: right, OUTPUTS, SLOTS) == []
    rest_kept = {"tokens": paddle.to_tensor(np.array([[6], [7], [5], [8]])), "texts": [*right["texts"], "eight"]}
    assert check_recover(lambda: rest_kept, OUTPUTS, SLOTS) == []
    with pytest.raises(ValueError, match="tokens: 4 rows, expected one for slot 5"):
        slots.recover(OUTPUTS, {5: 0})


def test_recover_that_forgets_lists_and_renames():
    right = slots.recover(OUTPUTS, SLOTS)

    def planted():
        by_keys = [OUTPUTS["texts"][slot] for slot, _ in enumerate(SLOTS)]  # the map's keys, not its requests
        return {"tokens": right["tokens"], "texts": by_keys}

    assert said(check_recover(planted, OUTPUTS, SLOTS)) == ["texts[0]: 'five', expected 'six'"]
    assert said(check_recover(lambda: {"token": right["tokens"], "texts": right["texts"]}, OUTPUTS, SLOTS)) == [
        "tokens: is not there; there are texts, token"
    ]
    assert said(check_recover(lambda: right | {"texts": ["six"]}, OUTPUTS, SLOTS)) == [
        "texts[1]: nothing, expected 'seven'"
    ]


class Buffers:
    def __init__(self):
        self.ids = paddle.full([8], 2, "int64")
        self.drafts = paddle.zeros([4, 2], "int64")
        self.texts = ["", ""]

    def use(self):
        self.ids.copy_(paddle.to_tensor([5, 6, 7]), False)
        self.drafts[:] = 9
        self.texts[0] = "text"

    def reset(self):
        self.ids.copy_(paddle.full([8], 2, "int64"), False)
        self.drafts[:] = 0
        self.texts[:] = ["", ""]


def test_reset():
    buffers = Buffers()
    assert check_reset(buffers.use, buffers.reset, Held(buffers, Groups(frozenset()))) == []


@pytest.mark.parametrize(
    ("reset", "reports"),
    [
        (lambda b: b.ids.fill_(2), ["ids: shape [3], expected [8], as it was made"]),
        (lambda b: setattr(b, "ids", paddle.full_like(b.ids, 2)), [
            "ids: the name stands for another object",
            "ids: shape [3], expected [8], as it was made",
            "ids: a capacity of 24 bytes, expected 64",
        ]),
        (lambda b: b.drafts.__setitem__((1, 1), -1), ["drafts[1, 1]: -1, expected 0, as it was made"]),
        (lambda b: b.texts.append(""), ["texts: 3 entries, expected 2"]),
        (lambda b: b.texts.__setitem__(0, "x"), ["texts[0]: 'x', expected '', as it was made"]),
    ],
)  # fmt: skip
def test_resets_that_leave_something(reset, reports):
    buffers = Buffers()

    def planted():
        if "ids" in reports[0]:
            buffers.drafts[:], buffers.texts[:] = 0, ["", ""]
        else:
            buffers.reset()
        reset(buffers)

    assert said(check_reset(buffers.use, planted, Held(buffers, Groups(frozenset())))) == reports
