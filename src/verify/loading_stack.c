/* loading_stack.c - stack, marks and memo of the walk through a pickle. */
#include <stdlib.h>

#include "base/fault.h"
#include "verify/loading_machine.h"

enum { STACK_FIRST = 256, MARKS_FIRST = 64, MEMO_FIRST = 256 };

void loading_release(loading_machine *m)
{
    free(m->stack);
    free(m->mark);
    free(m->memo);
    assay_dict_free(m->names);
}

/* Room for twice as many, within what the walk may take. */
static void *grow(loading_machine *m, void *list, size_t *room, size_t first, size_t each)
{
    const size_t more = *room ? 2 * *room : first;
    const size_t taken = m->room * sizeof *m->stack + m->mark_room * sizeof *m->mark + m->memo_room * sizeof *m->memo +
                         assay_dict_bytes(m->names);
    if (taken - *room * each + more * each > m->most) {
        m->broken = m->cut = m->out->full = true;
        return NULL;
    }
    void *grown = assay_realloc_array(list, more, each);
    if (grown)
        *room = more;
    else
        m->status = ASSAY_ENOMEM;
    return grown;
}

/* ---- the stack ---- */

void loading_push(loading_machine *m, loading_value v)
{
    if (m->height == m->room) {
        loading_value *grown = grow(m, m->stack, &m->room, STACK_FIRST, sizeof *grown);
        if (!grown)
            return;
        m->stack = grown;
    }
    m->stack[m->height++] = v;
}

void loading_push_kind(loading_machine *m, loading_kind kind)
{
    loading_push(m, (loading_value){.self.kind = (uint8_t)kind});
}

size_t loading_floor(const loading_machine *m)
{
    return m->marks > 0 ? m->mark[m->marks - 1] : 0;
}

loading_value loading_pop(loading_machine *m)
{
    if (m->height <= loading_floor(m)) {
        m->broken = true;
        return (loading_value){.self.kind = LOADING_OTHER};
    }
    return m->stack[--m->height];
}

void loading_set_mark(loading_machine *m)
{
    if (m->marks == m->mark_room) {
        size_t *grown = grow(m, m->mark, &m->mark_room, MARKS_FIRST, sizeof *grown);
        if (!grown)
            return;
        m->mark = grown;
    }
    m->mark[m->marks++] = m->height;
}

size_t loading_end_mark(loading_machine *m)
{
    if (m->marks == 0) {
        m->broken = true;
        return m->height;
    }
    return m->mark[--m->marks];
}

/* ---- the memo ---- */

static loading_slot *find_slot(loading_slot *memo, size_t room, uint64_t slot)
{
    size_t at = (size_t)(slot * 0x9E3779B97F4A7C15U >> 20) & (room - 1);
    while (memo[at].slot != 0 && memo[at].slot != slot + 1)
        at = (at + 1) & (room - 1);
    return &memo[at];
}

static bool grow_memo(loading_machine *m)
{
    const size_t before = m->memo_room;
    loading_slot *bigger = grow(m, NULL, &m->memo_room, MEMO_FIRST, sizeof *bigger);
    if (!bigger)
        return false;
    for (size_t i = 0; i < m->memo_room; i++)
        bigger[i].slot = 0;
    for (size_t i = 0; i < before; i++)
        if (m->memo[i].slot != 0)
            *find_slot(bigger, m->memo_room, m->memo[i].slot - 1) = m->memo[i];
    free(m->memo);
    m->memo = bigger;
    return true;
}

/* Most slots are filled in their order, with values of which nothing is known: those take no room. */
void loading_memo_put(loading_machine *m, uint64_t slot)
{
    if (m->height <= loading_floor(m)) {
        m->broken = true;
        return;
    }
    const loading_value *v = &m->stack[m->height - 1];
    const bool there = m->memo_room && find_slot(m->memo, m->memo_room, slot)->slot != 0;
    m->memoized += !there && slot >= m->dense;
    m->dense += slot == m->dense;
    if (v->self.kind == LOADING_OTHER && slot < m->dense && !there)
        return;
    if (!there && 2 * m->kept >= m->memo_room && !grow_memo(m))
        return;
    m->kept += !there;
    *find_slot(m->memo, m->memo_room, slot) = (loading_slot){slot + 1, *v};
}

void loading_memo_get(loading_machine *m, uint64_t slot)
{
    const loading_slot *from = m->memo_room ? find_slot(m->memo, m->memo_room, slot) : NULL;
    if (from && from->slot != 0)
        loading_push(m, from->value);
    else if (slot < m->dense)
        loading_push_kind(m, LOADING_OTHER);
    else
        m->broken = true;
}
