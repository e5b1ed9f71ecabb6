/* room.c - what a file takes while it is read: made once, since to make and clear it takes longer than to read a small file. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "format/joblog/joblog.h"

enum { ERA_BITS = 44 }; /* bytes of a file, and 1, are less */

struct joblog_room {
    char *bytes, *clean, *behind;
    joblog_past *past;
    joblog_form *form;
    joblog_memo *memo;
    size_t memos; /* that there is room for */
    uint64_t era;
};

static size_t power_for(uint64_t bytes, size_t least, size_t most)
{
    size_t count = least;
    while (count < most && count * JOBLOG_MEMO_OF < bytes)
        count *= 2;
    return count;
}

static joblog_room *room_new(void)
{
    joblog_room *room = assay_alloc_zeroed(1, sizeof *room);
    if (!room)
        return NULL;
    room->bytes = assay_alloc(JOBLOG_ROOM);
    room->clean = assay_alloc(JOBLOG_LINE_MOST);
    room->behind = assay_alloc(JOBLOG_LINE_MOST);
    room->past = assay_alloc_zeroed(JOBLOG_PASTS, sizeof *room->past);
    room->form = assay_alloc(JOBLOG_FORMS_MOST * sizeof *room->form);
    if (room->bytes && room->clean && room->behind && room->past && room->form)
        return room;
    joblog_room_free(room);
    return NULL;
}

/* Past lines are told from those of files before by their era, and so need not be cleared, but when eras begin again. */
static void next_era(joblog_room *room)
{
    room->era += UINT64_C(1) << ERA_BITS;
    if (room->era == 0)
        memset(room->past, 0, JOBLOG_PASTS * sizeof *room->past);
}

int joblog_room_take(joblog_room **kept, uint64_t bytes, joblog_reader *r)
{
    joblog_room *room = *kept ? *kept : (*kept = room_new());
    const size_t memos = power_for(bytes, JOBLOG_MEMOS_LEAST, JOBLOG_MEMOS_MOST);
    ASSAY_HAVE(room);
    if (memos > room->memos) {
        free(room->memo);
        room->memo = assay_alloc(memos * sizeof *room->memo);
        room->memos = room->memo ? memos : 0;
        ASSAY_HAVE(room->memo);
    }
    next_era(room);
    r->bytes = room->bytes;
    r->clean = room->clean;
    r->behind = room->behind;
    r->past = room->past;
    r->era = room->era;
    r->form = room->form;
    r->forms = power_for(bytes / 4, JOBLOG_FORMS_LEAST, JOBLOG_FORMS_MOST);
    r->memo = room->memo;
    r->memos = memos;
    memset(r->form, 0, r->forms * sizeof *r->form);
    memset(r->memo, 0, r->memos * sizeof *r->memo);
    return ASSAY_OK;
}

void joblog_room_free(joblog_room *room)
{
    if (!room)
        return;
    free(room->bytes);
    free(room->clean);
    free(room->behind);
    free(room->past);
    free(room->form);
    free(room->memo);
    free(room);
}
