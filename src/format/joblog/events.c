/* events.c - the events and ranks of an output, and of its pieces, which are joined. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "format/joblog/joblog.h"

enum {
    RANK_MOST = 1 << 20,
    QUOTE_MOST = 400,
    TEXT_MOST = 300,
    TEXTS_MOST = 16384 /* of a signature: then its events are those of a rank or node, whatever they say */
};

/* ---- ranks of a file ---- */

/* Room for the rows of so many ranks, and of what has none: a rank of 10 000 may be the only one of a file. */
static bool make_rows(joblog_reader *r, size_t count)
{
    const size_t more = count > r->rank_row.count ? count - r->rank_row.count : 0;
    if (!ASSAY_VEC_RESERVE(&r->rank_row, more))
        return false;
    if (more > 0)
        memset(r->rank_row.list + r->rank_row.count, 0, more * sizeof *r->rank_row.list);
    r->rank_row.count += more;
    return true;
}

assay_log_rank *joblog_row_add(joblog_reader *r, int64_t rank)
{
    const size_t at = rank < 0 || rank >= RANK_MOST ? 0 : (size_t)rank + 1;
    if (!make_rows(r, at + 1))
        return NULL;
    if (r->rank_row.list[at] == 0) {
        assay_log_rank *row = ASSAY_VEC_ADD(&r->out->rank);
        uint64_t *first = row ? ASSAY_VEC_ADD(&r->row_first) : NULL;
        if (!first)
            return NULL;
        *first = r->base + r->counted;
        *row = (assay_log_rank){.rank = (int64_t)at - 1, .last_time = NAN, .step_time = NAN, .last_step = -1};
        r->rank_row.list[at] = (int32_t)r->out->rank.count;
        if (at > 0 && r->first_front == UINT64_MAX)
            r->first_front = r->base + r->counted;
    }
    return &r->out->rank.list[r->rank_row.list[at] - 1];
}

/* ---- events ---- */

/* Is it the same event of a rank whatever its text says? */
static bool is_one_of_rank(const assay_log_event *e)
{
    return e->signature < ASSAY_SIGNATURE_EXCEPTION && e->scope == ASSAY_LOG_RANK;
}

static uint64_t hash_text(const char *text, size_t length)
{
    return length > 0 ? assay_hash_bytes(text, length) : 0;
}

/* `text`: what tells it from others, beside who it is of; "" in some events. */
static uint64_t key_of(const assay_log_event *e, const char *text, size_t length)
{
    const uint64_t key[] = {e->signature,
                            e->kind,
                            (uint64_t)e->rank,
                            (uint64_t)e->local_rank,
                            hash_text(e->ranks, strlen(e->ranks)),
                            is_one_of_rank(e) ? 0 : hash_text(text, length),
                            (uint64_t)e->job,
                            hash_text(e->node, strlen(e->node))};
    return assay_hash_bytes(key, sizeof key);
}

bool joblog_make_table(joblog_reader *r, size_t room)
{
    joblog_slot *list = assay_alloc_zeroed(room, sizeof *list);
    if (!list)
        return false;
    for (size_t i = 0; i < r->out->event.count; i++) {
        const assay_log_event *e = &r->out->event.list[i];
        const uint64_t key = key_of(e, e->text, strlen(e->text));
        size_t at = key & (room - 1);
        while (list[at].number)
            at = (at + 1) & (room - 1);
        list[at] = (joblog_slot){key, i + 1};
    }
    free(r->slot.list);
    r->slot.list = list;
    r->slot.count = r->slot.room = room;
    return true;
}

/* Room for one more event, and a slot for it. */
static bool make_room(joblog_reader *r)
{
    if (r->out->event.count >= r->events_most) {
        assay_log_file_cut(r->out, r->events_most / 2);
        memset(r->memo, 0, r->memos * sizeof *r->memo);
        return joblog_make_table(r, r->slot.count);
    }
    return r->out->event.count * 2 < r->slot.count || joblog_make_table(r, 2 * r->slot.count);
}

/* The event of that key; else NULL, and *at is its slot. */
static assay_log_event *find_event(const joblog_reader *r, uint64_t key, size_t *at)
{
    for (*at = key & (r->slot.count - 1); r->slot.list[*at].number; *at = (*at + 1) & (r->slot.count - 1))
        if (r->slot.list[*at].key == key)
            return &r->out->event.list[r->slot.list[*at].number - 1];
    return NULL;
}

/* The number behind a word; -1. */
static int64_t number_behind(const char *line, size_t length, const char *word)
{
    const char *at = joblog_find(line, length, word);
    int64_t value = 0;
    if (!at)
        return -1;
    at += strlen(word);
    const char *const begin = at;
    for (; at < line + length && *at >= '0' && *at <= '9' && at < begin + 15; at++)
        value = 10 * value + (*at - '0');
    return at > begin ? value : -1;
}

char *joblog_take_text(assay_buf *buf)
{
    assay_put_u8(buf, 0);
    char *text = assay_buf_status(buf) == ASSAY_OK ? assay_copy_text((const char *)buf->data) : NULL;
    assay_buf_release(buf);
    return text;
}

static int64_t group_number(const joblog_match *match, enum joblog_group group)
{
    const char *text = match ? match->text[group] : NULL;
    const bool minus = text && match->length[group] > 1 && text[0] == '-';
    const int64_t value = text ? number_behind(text + minus, match->length[group] - minus, "") : -1;
    return value < 0 ? -1 : minus ? -value : value;
}

/* What groups of the signature say goes before what stands in front of the line. */
static void take_groups(const joblog_match *match, assay_log_event *e)
{
    const int64_t rank = group_number(match, GROUP_rank), step = group_number(match, GROUP_step);
    if (match && match->length[GROUP_node] > 0 && match->length[GROUP_node] < sizeof e->node) {
        memcpy(e->node, match->text[GROUP_node], match->length[GROUP_node]);
        e->node[match->length[GROUP_node]] = '\0';
        const bool address = e->node[strspn(e->node, "0123456789.")] == '\0'; /* which has points */
        e->node[strcspn(e->node, address ? ",: " : ".,: ")] = '\0';
    }
    const bool counts = e->scope != ASSAY_LOG_RANK || e->rank < 0; /* else the line has a prefix */
    if (rank >= 0 && counts) {                                     /* "3", "0-3, 5" */
        size_t put = 0;
        e->rank = rank;
        for (size_t i = 0; i < match->length[GROUP_rank] && put + 1 < sizeof e->ranks; i++)
            if (match->text[GROUP_rank][i] != ' ')
                e->ranks[put++] = match->text[GROUP_rank][i];
        e->ranks[put] = '\0';
        if (!strpbrk(e->ranks, "-,"))
            e->ranks[0] = '\0';
        else if (put + 1 == sizeof e->ranks) /* the last one may be cut */
            e->ranks[strrchr(e->ranks, ',') ? (size_t)(strrchr(e->ranks, ',') - e->ranks) : 0] = '\0';
    }
    const int64_t local = group_number(match, GROUP_local);
    e->local_rank = local >= 0 ? local : e->local_rank;
    e->step = step >= 0 ? step : e->step;
    const int64_t code = group_number(match, GROUP_code);
    e->code = code != -1 ? code : e->code;
}

/* "*** JOB 7 ON n1 CANCELLED AT 2026-11-27T04:00:00 ***": the time that a line says itself. */
static void take_said_time(const joblog_line *line, assay_log_event *e)
{
    const char *at = e->timed == ASSAY_LOG_UNTIMED ? joblog_find(line->text, line->length, " AT 20") : NULL;
    joblog_prefix said;
    if (!at)
        return;
    joblog_prefix_read(at + 4, line->length - (size_t)(at + 4 - line->text), &said);
    e->time = said.time;
    e->timed = said.timed;
}

/* "*** JOB 7 ON n1 CANCELLED AT ...", "*** STEP 7.0 ON n1 ...": an output that is appended to has several. */
static void take_job(const joblog_line *line, assay_log_event *e)
{
    static const char *const words[] = {"*** JOB ", "*** STEP "};
    for (size_t i = 0; i < sizeof words / sizeof *words && e->scope == ASSAY_LOG_JOB && e->job <= 0; i++)
        e->job = number_behind(line->text, line->length, words[i]);
    e->job = e->job > 0 ? e->job : 0;
}

/* "n1:4711:4799 [3] NCCL INFO comm 0x55e0 rank 3 nranks 8 cudaDev 3": who sits where. A line that was torn says nothing. */
static void take_seat(const joblog_line *line, const joblog_match *match, assay_log_event *e)
{
    static const char comm[] = " NCCL INFO comm ";
    const size_t left = match && match->literal ? line->length - (size_t)(match->literal - line->text) : 0;
    const char *at = left < sizeof comm || memcmp(match->literal, comm, sizeof comm - 1) != 0
                         ? NULL
                         : joblog_find(match->literal, left, " rank ");
    char words[64];
    long long rank, ranks;
    int used = 0;
    if (!at)
        return;
    snprintf(words, sizeof words, "%.*s", (int)(line->length - (size_t)(at - line->text)), at);
    if (sscanf(words, " rank %7lld nranks %7lld cudaDev %n", &rank, &ranks, &used) != 2 || used == 0 || rank < 0 ||
        rank >= ranks || (e->rank >= 0 && e->rank != rank)) /* the last: a part of all ranks */
        return;
    e->rank = rank;
    e->of_ranks = ranks;
}

/* What tells exceptions of a rank from one another: their class, and how they were raised. One that was caught may come before
 * one that ends its program. */
static uint64_t kind_of(const assay_log_event *e, const joblog_match *match)
{
    const char *what = match && e->ending == ASSAY_ENDING_exception ? match->text[GROUP_what] : NULL;
    const char *end = what ? memchr(what, ':', match->length[GROUP_what]) : NULL;
    const uint64_t key[] = {what ? hash_text(what, end ? (size_t)(end - what) : match->length[GROUP_what]) : 0,
                            joblog_way_of(e)};
    return e->ending == ASSAY_ENDING_exception ? assay_hash_bytes(key, sizeof key) : 0;
}

static void put_text(const char *sentence, const joblog_match *match, assay_buf *out)
{
    joblog_put_sentence(sentence, match, out);
    out->size = out->size < TEXT_MOST ? out->size : TEXT_MOST;
}

void joblog_count_again(joblog_reader *r, size_t number, uint64_t at, uint64_t line)
{
    assay_log_event *e = &r->out->event.list[number];
    e->count++;
    e->last_at = at;
    e->last_line = line;
    r->added = number;
}

/* "found NaN at iteration #130": the step that an event's line says itself. Others are those of checkpoints, of limits. */
static int64_t said_step(const joblog_line *line)
{
    enum { WORDS = 20 };
    size_t at = 0;
    const int64_t step = joblog_step_at(line->body, line->body_length, &at);
    const size_t from = step >= 0 && at > WORDS ? at - WORDS : 0;
    return step >= 0 && joblog_find(line->body + from, at - from, " at ") ? step : -1;
}

/* Makes the texts of an event that is new, and looks for what stands before it. False without memory. */
static bool complete(joblog_reader *r, const joblog_line *line, const joblog_block *traceback, assay_log_event *e)
{
    assay_buf quote;
    if (e->ending == ASSAY_ENDING_exception)
        joblog_exception_class(line->body, line->body_length, e);
    assay_buf_init(&quote, 1 << 16);
    joblog_mask(r->log->masks, line->text, line->length < QUOTE_MOST ? line->length : QUOTE_MOST, &quote);
    e->quote = joblog_take_text(&quote);
    e->place = traceback ? joblog_block_place(traceback) : NULL;
    if (e->timed == ASSAY_LOG_UNTIMED) {
        e->time = line->prefix.time;
        e->timed = line->prefix.timed;
    }
    take_said_time(line, e);
    if (e->ending == ASSAY_ENDING_collective_timeout) {
        e->sequence = number_behind(line->text, line->length, "SeqNum=");
        if (e->sequence < 0)
            e->sequence = number_behind(line->text, line->length, "last enqueued NCCL work: ");
    }
    e->step = e->step >= 0 || e->role == ASSAY_LOG_NOISE ? e->step : said_step(line);
    joblog_look_back(r, line->place, line->prefix.rank, e);
    e->shown = e->shown && !(traceback && traceback->absolute);
    return e->quote != NULL;
}

/* The match with its groups, where they were not looked for. */
static const joblog_match *complete_match(const joblog_reader *r, const joblog_line *line, const joblog_match *match,
                                          joblog_match *out)
{
    const joblog_signatures *s = &r->log->signatures;
    const size_t number = match->signature - 1;
    *out = (joblog_match){.literal = match->literal};
    if (s->regex[number] && !joblog_signature_search(s, number, line->own, line->own_length, out))
        (void)joblog_signature_search(s, number, line->body, line->body_length, out);
    return out;
}

/* Where tasks of Slurm are launchers of nodes, srun speaks of these; and how many ranks the nodes before a launcher have is not known. */
static void take_agents(const joblog_line *line, assay_log_event *e)
{
    const assay_signature *signature = assay_signature_of(e->signature);
    if (signature && strncmp(signature->id, "srun_", 5) == 0) {
        e->rank = -1;
        e->ranks[0] = '\0';
    }
    if (line->prefix.agent > 0)
        e->local_rank = -1;
}

/* Does it pass on an exception of another process, which follows: "FileNotFoundError: Caught FileNotFoundError in DataLoader
 * worker process 2."? That one says more. */
static bool is_of_another(const joblog_line *line)
{
    const char *colon = memchr(line->body, ':', line->body_length);
    return colon && (size_t)(line->body + line->body_length - colon) > 9 && memcmp(colon, ": Caught ", 9) == 0;
}

int joblog_event_add(joblog_reader *r, const joblog_line *line, assay_log_event e, const char *sentence,
                     const joblog_match *match, const joblog_block *traceback)
{
    static const joblog_match none = {0};
    uint32_t *texts = &r->texts[e.signature < JOBLOG_NUMBERS ? e.signature : JOBLOG_NUMBERS - 1];
    assay_buf text, masked;
    size_t at = 0;
    ASSAY_HAVE(make_room(r));
    e.file = r->out->file;
    e.line = e.last_line = line->number;
    e.at = e.last_at = line->at;
    e.count = 1;
    if (e.rank < 0 && e.scope != ASSAY_LOG_JOB) /* which speaks of others than who wrote it */
        e.rank = line->prefix.rank;
    if (e.scope == ASSAY_LOG_RANK)
        e.local_rank = line->prefix.local_rank;
    if (!e.node[0])
        memcpy(e.node, line->prefix.node, sizeof e.node);
    take_job(line, &e);
    take_seat(line, match, &e);
    take_groups(match, &e);
    if (r->per_node == JOBLOG_AGENTS)
        take_agents(line, &e);
    if (e.scope == ASSAY_LOG_JOB && !e.node[0] && assay_signature_is_of_pod(e.signature))
        joblog_take_pod(r, line, &e);
    const int64_t pid = e.role == ASSAY_LOG_NOISE && e.scope == ASSAY_LOG_JOB ? group_number(match, GROUP_pid) : -1;
    if (pid >= 0 && e.rank >= 0) /* Ray says where it started a rank */
        ASSAY_HAVE(joblog_process_add(r, pid, e.node, e.rank));
    e.kind = kind_of(&e, match) + (e.in_traceback && is_of_another(line));
    assay_buf_init(&text, 1 << 16);
    const bool told =
        !is_one_of_rank(&e) && *texts < TEXTS_MOST; /* to make texts takes long, and to mask them longer */
    if (told)
        put_text(sentence, match ? match : &none, &text);
    uint64_t key = key_of(&e, (const char *)text.data, text.size);
    assay_log_event *same = find_event(r, key, &at);
    joblog_match all;
    if (!same && match && match->signature > 0) {
        match = complete_match(r, line, match, &all);
        take_groups(match, &e);
    }
    if (!same) {
        if (!told)
            put_text(sentence, match ? match : &none, &text);
        assay_buf_init(&masked, 1 << 16);
        joblog_mask(r->log->masks, (const char *)text.data, text.size, &masked);
        e.text = joblog_take_text(&masked);
        if (told && e.text) {
            key = key_of(&e, e.text, strlen(e.text));
            same = find_event(r, key, &at);
        }
    }
    const bool whole = text.status == ASSAY_OK && (same || e.text);
    assay_buf_release(&text);
    if (same)
        joblog_count_again(r, (size_t)(same - r->out->event.list), line->at, line->number);
    assay_log_event *kept = whole && !same && complete(r, line, traceback, &e) ? ASSAY_VEC_ADD(&r->out->event) : NULL;
    if (!kept) {
        assay_log_event_release(&e);
        return whole && same ? ASSAY_OK : ASSAY_ENOMEM;
    }
    *kept = e;
    ++*texts;
    r->added = r->out->event.count - 1;
    r->slot.list[at] = (joblog_slot){key, r->out->event.count};
    return ASSAY_OK;
}

/* ---- pieces ---- */

/* Takes the events and ranks of the next piece over; its lines stand behind so many. */
static int join_next(joblog_reader *r, assay_log_file *next, uint64_t lines)
{
    for (size_t i = 0; i < next->event.count; i++) {
        assay_log_event *e = &next->event.list[i];
        size_t at = 0;
        e->line += lines;
        e->last_line += lines;
        ASSAY_HAVE(make_room(r));
        const uint64_t key = key_of(e, e->text, strlen(e->text));
        assay_log_event *same = find_event(r, key, &at);
        assay_log_event *kept = same ? same : ASSAY_VEC_ADD(&r->out->event);
        ASSAY_HAVE(kept);
        if (same) {
            same->count += e->count;
            same->last_at = e->last_at;
            same->last_line = e->last_line;
            assay_log_event_release(e);
        } else {
            *kept = *e;
            e->text = e->quote = e->place = NULL;
            r->slot.list[at] = (joblog_slot){key, r->out->event.count};
        }
    }
    for (size_t i = 0; i < next->rank.count; i++) {
        assay_log_rank *row = joblog_row_of(r, next->rank.list[i].rank);
        ASSAY_HAVE(row);
        assay_log_rank *later = &next->rank.list[i];
        later->last_line += lines;
        if (later->lines == 0 && row->lines > 0) { /* of its last lines some are before the piece */
            later->last_at = row->last_at;
            later->last_line = row->last_line;
        }
        later->lines += row->lines;
        *row = *later;
    }
    return ASSAY_OK;
}

int assay_log_file_join(assay_log_file *file, size_t pieces)
{
    joblog_reader r = {.out = file, .events_most = SIZE_MAX};
    size_t room = 1024;
    while (room < 4 * file->event.count)
        room *= 2;
    int status = joblog_make_table(&r, room) ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < file->rank.count && status == ASSAY_OK; i++) {
        const size_t at = (size_t)(file->rank.list[i].rank + 1);
        status = make_rows(&r, at + 1) ? ASSAY_OK : ASSAY_ENOMEM;
        if (status == ASSAY_OK)
            r.rank_row.list[at] = (int32_t)i + 1;
    }
    for (size_t k = 1; k < pieces && status == ASSAY_OK; k++) {
        assay_log_file *next = &file[k];
        status = join_next(&r, next, file->lines);
        file->bytes += next->bytes;
        file->lines += next->lines;
        file->left_out += next->left_out;
        file->cut = file->cut || next->cut;
        if (!file->problem) {
            file->problem = next->problem;
            next->problem = NULL;
        }
        assay_log_file_release(next);
    }
    free(r.rank_row.list);
    free(r.row_first.list);
    free(r.slot.list);
    return status;
}
