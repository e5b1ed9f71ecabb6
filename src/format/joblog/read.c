/* read.c - a file of a job's output becomes events. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/literals.h"
#include "base/path.h"
#include "container/utf8.h"
#include "format/joblog/joblog.h"

enum {
    ROOM = JOBLOG_ROOM,
    READ = 128 << 10, /* at once: it stays in a cache until it was gone through */
    WHOLE_LINE = 64 << 10,
    TRACK_LOOK = 256 << 10,
    TIMES_LOOK = 32 << 10,
    QUOTE_MOST = 400,
    TAIL_KEPT = 320 << 10,
    LEAD = 1 << 20, /* of a piece, before it */
    MEMOS_ASKED = 512,
    MEMOS_FROM = 64, /* lines that were looked at: of fewer there are hardly two that are alike */
    PAUSE_MOST = 128 * MEMOS_ASKED
};

/* ---- lines that may mean something ---- */

enum { WORDS = JOBLOG_NUMBERS / 64 };

/* The numbers whose literal a line has; a bit for each. */
typedef struct found {
    uint64_t bit[WORDS];
    unsigned used;             /* a bit for each word that is not 0 */
    size_t count;              /* of literals */
    size_t asked;              /* the number that joblog_may_match() was asked of last, and 1; 0: none */
    bool may;                  /* and what it said */
    size_t at[JOBLOG_NUMBERS]; /* where it is, for the first time */
} found;

static void note_one(const assay_job_log *log, size_t literal, size_t at, found *f)
{
    f->count++;
    for (size_t i = log->first[literal]; i > 0; i = log->next[i - 1]) {
        const uint64_t bit = UINT64_C(1) << (i - 1) % 64, *word = &f->bit[(i - 1) / 64];
        f->at[i - 1] = *word & bit && f->at[i - 1] < at ? f->at[i - 1] : at;
        f->bit[(i - 1) / 64] |= bit;
        f->used |= 1u << (i - 1) / 64;
    }
}

/* Notes the literal of the search that lies at byte `at` of a line, and those that begin with it. */
static void note_literal(const assay_job_log *log, size_t searched, const char *line, size_t length, size_t at,
                         found *f)
{
    const size_t literal = log->searched[searched];
    note_one(log, literal, at, f);
    for (size_t i = log->longer[literal]; i > 0; i = log->longer[i - 1]) {
        size_t size = 0;
        const char *text = assay_dict_name(log->literal_text, (uint32_t)i - 1, &size);
        if (size <= length - at && memcmp(line + at, text, size) == 0)
            note_one(log, i - 1, at, f);
    }
}

static void forget_literals(found *f)
{
    memset(f->bit, 0, sizeof f->bit);
    f->used = 0;
    f->count = f->asked = 0;
}

/* The first number that was found, from this one on; JOBLOG_NUMBERS: there is none. */
static size_t next_found(const found *f, size_t number)
{
    const size_t w = number / 64;
    const uint64_t left = w < WORDS ? f->bit[w] >> number % 64 << number % 64 : 0;
    const unsigned behind = w < WORDS ? f->used & ~((2u << w) - 1) : 0;
    if (left)
        return 64 * w + (size_t)__builtin_ctzll(left);
    return behind ? 64 * (size_t)__builtin_ctz(behind) + (size_t)__builtin_ctzll(f->bit[__builtin_ctz(behind)])
                  : (size_t)JOBLOG_NUMBERS;
}

/* joblog_may_match(), which is asked twice of many lines. */
static bool may_match(const assay_job_log *log, size_t number, const char *line, size_t length, found *f)
{
    if (f->asked != number + 1) {
        f->asked = number + 1;
        f->may = joblog_may_match(&log->signatures, number, line, length);
    }
    return f->may;
}

/* ---- lines that were judged already ---- */

/* Would lines of the same shape and writer become the same event as one that matched a signature, number NONE for no one? */
static bool is_same_again(const joblog_reader *r, const joblog_line *line, size_t number)
{
    const assay_signature *s = assay_signature_of(number);
    if (!s)
        return true;
    const int *group = r->log->signatures.group[number];
    return s->scope == ASSAY_LOG_RANK &&
           (!r->log->signatures.regex[number] || (group[GROUP_rank] < 0 && group[GROUP_node] < 0)) &&
           (s->role != ASSAY_LOG_NOISE || !joblog_find(line->text, line->length, " NCCL INFO comm "));
}

/* The signature that a line matches, of those whose literals it has; SIZE_MAX. *again: one of the same shape does, too. */
static size_t match_of(const assay_job_log *log, const joblog_line *line, found *f, joblog_match *match, bool *again)
{
    for (size_t i = next_found(f, 0); i < log->blocks; i = next_found(f, i + 1)) {
        const char *literal = line->text + f->at[i];
        if (!may_match(log, i, line->text, line->length, f))
            continue;
        *again = *again && !log->signatures.counts[i];
        if (log->signatures.says_more[i] &&
            literal >= line->own) { /* of an event that is known that is not asked for */
            *match = (joblog_match){.literal = literal, .signature = i + 1};
            return i;
        }
        if (joblog_signature_match(&log->signatures, i, line->own, line->own_length, literal, match) ||
            (line->body != line->own &&
             joblog_signature_match(&log->signatures, i, line->body, line->body_length, literal, match)))
            return i;
    }
    return SIZE_MAX;
}

/* The chain before what belongs to it. */
static int open_blocks(joblog_reader *r, unsigned kinds, uint32_t who)
{
    int status = ASSAY_OK;
    for (int kind = JOBLOG_BLOCK_KINDS; kinds && kind-- > 0 && status == ASSAY_OK;)
        if (kinds >> kind & 1)
            status = joblog_block_open(r, (joblog_block_kind)kind, who, r->line);
    return status;
}

/* Is it the last line of a traceback whose head was torn away, or cut off, or that has none, as an error of syntax? */
static bool ends_traceback(const joblog_reader *r, const joblog_line *line, joblog_block *block)
{
    size_t name;
    return joblog_part_of(line->body, line->body_length, &name) == JOBLOG_EXCEPTION &&
           joblog_block_find(r, line, block);
}

/* Looks at a line whose block, where it has one, took it so. *memo gets what became of it, or no key. */
static int judge_line(joblog_reader *r, const joblog_line *line, found *f, int taken, const joblog_block *block,
                      joblog_memo *memo)
{
    const assay_job_log *log = r->log;
    joblog_match match;
    for (size_t i = next_found(f, log->blocks); i < JOBLOG_NUMBERS; i = next_found(f, i + 1))
        memo->opens |= (uint8_t)(1 << (i - log->blocks));
    int status = open_blocks(r, memo->opens, memo->who);
    bool again = taken != 2;
    const size_t number = taken != 2 && status == ASSAY_OK ? match_of(log, line, f, &match, &again) : SIZE_MAX;
    const assay_signature *s = assay_signature_of(number);
    joblog_block lost;
    if (taken == 0 && s && s->role != ASSAY_LOG_NOISE && ends_traceback(r, line, &lost)) {
        block = &lost;
        taken = 1;
    }
    if (s) {
        assay_log_event event = {.signature = (uint32_t)number,
                                 .ending = s->ending,
                                 .role = s->role,
                                 .scope = s->scope,
                                 .in_traceback = taken == 1,
                                 .chained = taken == 1 && block->chained,
                                 .ignored = taken == 1 && block->ignored,
                                 .inside = taken == 1 && block->inside,
                                 .rank = -1,
                                 .local_rank = -1,
                                 .step = -1,
                                 .code = -1,
                                 .sequence = -1,
                                 .time = NAN};
        status = joblog_event_add(r, line, event, s->sentence, &match, taken == 1 ? block : NULL);
        memo->event = (uint32_t)r->added + 1;
        memo->way = joblog_way_of(&event) & 0x0f;
    }
    if (memo->key && (!again || !is_same_again(r, line, number) ||
                      joblog_may_have_other(&log->signatures, line->text, line->length)))
        memo->key = 0;
    if (status == ASSAY_OK && taken == 1 && !s)
        status = joblog_exception_add(r, line, block);
    return status;
}

/* Of a line all of whose literals were found: how many of its first bytes decide, with *number, what becomes of it; all of
 * them where others may. *number: the first that matches for sure, else the first whose literal it has. */
static size_t deciding(const joblog_reader *r, const char *line, size_t length, found *f, size_t *number)
{
    static const char comm[] = " NCCL INFO comm "; /* who sits where, see take_seat() */
    const joblog_signatures *s = &r->log->signatures;
    size_t head = 0, i = next_found(f, 0);
    *number = i;
    if (next_found(f, r->log->blocks) < JOBLOG_NUMBERS)
        return length;
    for (; i < JOBLOG_NUMBERS && !s->always[i]; i = next_found(f, i + 1)) {
        if (!s->by_head[i] && may_match(r->log, i, line, length, f))
            return length;
        if (!s->by_head[i])
            continue;
        size_t end = f->at[i] + strlen(assay_signature_of(i)->literal);
        end += end + 2 <= length && memcmp(line + end, ": ", 2) == 0 ? 2 : 0;
        if (memcmp(line + end - 2, ": ", 2) != 0)
            return length;
        head = end > head ? end : head;
    }
    if (i < JOBLOG_NUMBERS && length - f->at[i] >= sizeof comm && memcmp(line + f->at[i], comm, sizeof comm - 1) == 0)
        return length;
    *number = i < JOBLOG_NUMBERS ? i : *number;
    return i < JOBLOG_NUMBERS && f->at[i] > head ? f->at[i] : head > 0 ? head : length;
}

/* What lines have in common that become the same event of their rank: the shape of their first bytes, and of what Docker puts
 * behind them. */
static uint64_t likeness_of(const joblog_reader *r, size_t from, size_t to, size_t size, bool wrapped, size_t number)
{
    const char *line = r->bytes + from;
    uint64_t shape = joblog_shape(line, size);
    const char *end = wrapped && size < to - from ? memchr(line + size, '\\', to - from - size) : NULL;
    if (end)
        shape ^= joblog_shape(end, (size_t)(r->bytes + to - end)) * 3;
    return (shape + ((uint64_t)number << 48)) | 1;
}

/* Shall a memo be asked for? To make one takes longer than to look at a line: where few are there of those asked for, that
 * is tried again later, and later each time. */
static bool ask_memo(joblog_reader *r)
{
    if (r->unasked > 0) {
        r->unasked--;
        return false;
    }
    if (++r->asked == MEMOS_ASKED) {
        const bool few = r->known < MEMOS_ASKED / 2;
        r->pause = !few ? 0 : r->pause == 0 ? MEMOS_ASKED / 2 : r->pause < PAUSE_MOST ? 2 * r->pause : r->pause;
        r->unasked = r->pause;
        r->asked = r->known = 0;
    }
    return true;
}

/* A line like another one becomes what that one did. False: it has to be looked at. */
static bool take_again(joblog_reader *r, const joblog_memo *memo, size_t from, size_t to, int *status)
{
    if (!joblog_block_take_again(r, memo, r->bytes + from, to - from))
        return false;
    *status = open_blocks(r, memo->opens, memo->who);
    if (memo->event)
        joblog_count_again(r, memo->event - 1, r->base + from, r->line);
    if (memo->row)
        joblog_count_line(r, &r->out->rank.list[memo->row - 1], from, to);
    return true;
}

typedef struct place {        /* of a line in the reader's bytes */
    size_t begin, stop, next; /* the next one begins behind the byte that ends it */
    bool plain;               /* nothing in it has to be cleaned */
} place;

/* Where literals are: the next one of the reader's bytes up to `to`, and a line that has it or lies before it. */
typedef struct scan {
    assay_literal_search next;
    place line;
    size_t to;
    bool more;
} scan;

/* Behind the last of a byte in [at, to); `at` where there is none. */
static size_t behind_byte(const char *bytes, char byte, size_t at, size_t to)
{
    const char *found_at = memrchr(bytes + at, byte, to - at);
    return found_at ? (size_t)(found_at - bytes) + 1 : at;
}

/* The first control character from `at` on; `to`. */
static size_t next_control(const char *bytes, size_t at, size_t to)
{
    return at + joblog_first_control(bytes + at, to - at);
}

/* Goes on to the line that has byte `hit` of those up to `to`. Mostly it is the next one; else lines before it are not looked
 * at by themselves. */
static void go_to_line(const char *bytes, size_t to, size_t hit, place *line)
{
    if (hit < line->next)
        return;
    line->begin = line->next;
    line->stop = next_control(bytes, line->begin, to);
    if (line->stop < hit) {
        const size_t begin = behind_byte(bytes, '\r', behind_byte(bytes, '\n', line->stop, hit), hit);
        line->begin = begin > line->stop ? begin : line->begin;
        line->stop = begin > line->stop ? next_control(bytes, begin, to) : line->stop;
    }
    line->plain = line->stop == to || joblog_is_end(bytes[line->stop]);
    if (!line->plain) {
        const char *feed = memchr(bytes + line->stop, '\n', to - line->stop), *end = feed ? feed : bytes + to,
                   *back = memchr(bytes + line->stop, '\r', (size_t)(end - bytes) - line->stop);
        line->stop = (size_t)((back ? back : end) - bytes);
    }
    line->next = line->stop + (line->stop < to);
}

/* Where as much of a line begins as is looked at, before byte `hit`. */
static size_t look_from(const place *line, size_t hit)
{
    return hit - line->begin > JOBLOG_LINE_MOST / 4 ? hit - JOBLOG_LINE_MOST / 4 : line->begin;
}

/* Goes on to a literal that may mean something: names of exceptions stand in many texts. */
static void go_on(const joblog_reader *r, scan *s)
{
    bool may = false;
    while (!may) {
        s->more = assay_literals_next(r->log->literals, r->bytes, s->to, &s->next);
        may = !s->more || !r->log->only_first[r->log->searched[s->next.number]];
        if (may)
            return;
        go_to_line(r->bytes, s->to, s->next.at, &s->line);
        const size_t begin = look_from(&s->line, s->next.at);
        may = !s->line.plain || /* more may be found once it is clean */
              joblog_may_be_first(r->bytes + begin, s->next.at - begin);
    }
}

/* Notes the literals of a line from the next one on. */
static void note_literals(const joblog_reader *r, size_t to, size_t from, scan *literals, found *f)
{
    for (; literals->more && literals->next.at < to; go_on(r, literals))
        note_literal(r->log, literals->next.number, r->bytes + from, to - from, literals->next.at - from, f);
}

/* Notes the literals of a line that was cleaned, or torn: what is cut by escapes counts, what is part of them or stands before
 * the rank does not. */
static void note_anew(const joblog_reader *r, const joblog_line *line, found *f)
{
    const assay_job_log *log = r->log;
    assay_literal_search s = {.at = 0};
    forget_literals(f);
    while (assay_literals_next(log->literals, line->text, line->length, &s))
        if (!log->only_first[log->searched[s.number]] || joblog_may_be_first(line->text, s.at))
            note_literal(log, s.number, line->text, line->length, s.at, f);
}

bool joblog_has_signature(const joblog_reader *r, const joblog_line *line)
{
    found f;
    joblog_match match;
    bool again = false;
    note_anew(r, line, &f);
    return next_found(&f, r->log->blocks) < JOBLOG_NUMBERS || match_of(r->log, line, &f, &match, &again) < SIZE_MAX;
}

/* Looks at a line, in which literals lie, or which may belong to a block. `whole`: nothing has to be cleaned. */
static int look_at(joblog_reader *r, size_t from, size_t to, bool whole, scan *literals)
{
    joblog_line line;
    joblog_block block;
    found here, *f = &here;
    forget_literals(f);
    note_literals(r, to, from, literals, f);
    int64_t rank;
    const bool wrapped = joblog_is_wrapped(r->bytes + from, to - from);
    const bool plain = whole && !wrapped && to - from <= JOBLOG_LINE_MOST;
    if (f->count == 0 && to > from && joblog_block_pass(r, r->bytes + from, to - from, plain, &rank)) {
        assay_log_rank *row = r->tracked ? joblog_row_of(r, rank) : NULL;
        if (row)
            joblog_count_line(r, row, from, to);
        return r->tracked && !row ? ASSAY_ENOMEM : ASSAY_OK;
    }
    const bool simple = plain || (wrapped && whole && to - from <= JOBLOG_LINE_MOST &&
                                  joblog_is_wrapped_plain(r->bytes + from, to - from));
    size_t number = JOBLOG_NUMBERS; /* of none */
    const size_t size = simple && f->count > 0 ? deciding(r, r->bytes + from, to - from, f, &number) : to - from;
    const bool enough = size < to - from;
    joblog_memo now = {.key = (simple || !wrapped) && to - from <= JOBLOG_LINE_MOST && ask_memo(r)};
    const uint64_t likeness = now.key ? likeness_of(r, from, to, size, wrapped, number) : 0;
    const joblog_memo *memo = likeness ? joblog_memo_find(r, from, likeness) : NULL;
    int status = ASSAY_OK;
    if (memo && take_again(r, memo, from, to, &status)) {
        r->known++;
        return status;
    }
    joblog_line_clean(r, from, to, plain, &line);
    if (!plain)
        note_anew(r, &line, f);
    if (line.length == 0 || (f->count == 0 && r->block.count == 0 && !now.key))
        return ASSAY_OK;
    const char *const text = line.text;
    joblog_line_part(r, &line);
    if (line.text != text) { /* it was torn */
        note_anew(r, &line, f);
        now.key = 0;
    }
    if (next_found(f, r->log->blocks) <= r->log->blocks + JOBLOG_ROOT_CAUSE) {
        const size_t prefix = line.prefix.length;
        joblog_front_learn(r, &line);
        joblog_line_part(r, &line);
        now.key = line.prefix.length == prefix ? now.key : 0;
    }
    const int taken = r->block.count > 0 ? joblog_block_take(r, &line, &block) : 0;
    if (taken < 0)
        return taken;
    if (now.key || next_found(f, r->log->blocks) < JOBLOG_NUMBERS)
        now.who = joblog_writer_of(r, &line);
    if (now.who == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (now.key) {
        size_t name;
        now.part = (uint8_t)joblog_part_of(line.body, line.body_length, &name);
        now.name = (uint16_t)(line.prefix.length + name);
        if (taken == 2 || (!plain && name > 0) ||
            (enough && (f->count == 0 || line.prefix.length > f->at[next_found(f, 0)] ||
                        (line.body_length > 0 && line.body[0] == ' ' && now.part != JOBLOG_NO_PART))))
            now.key = 0;
    }
    if (f->count > 0 || taken == 1)
        status = judge_line(r, &line, f, taken, &block, &now);
    if (now.key && status == ASSAY_OK)
        status = joblog_memo_keep(r, &line, to - from, likeness, now);
    return status;
}

/* Goes through bytes [r->at, to). */
static int go_through(joblog_reader *r, size_t to)
{
    place line = {.begin = r->at, .next = r->at};
    scan literals = {.next = {.low = r->at, .place = r->at}, .line = line, .to = to};
    int status = ASSAY_OK;
    go_on(r, &literals);
    while (r->at < to && status == ASSAY_OK && (literals.more || r->block.count > 0)) {
        const size_t hit = r->block.count == 0 ? literals.next.at : r->at;
        if (literals.line.begin <= hit && hit < literals.line.next)
            line = literals.line;
        else
            go_to_line(r->bytes, to, hit, &line);
        if (literals.line.begin < line.begin)
            literals.line = line;
        const size_t begin = look_from(&line, hit);
        const bool cut = begin > line.begin;
        const bool plain = line.plain || (cut && next_control(r->bytes, begin, line.stop) == line.stop);
        r->at = line.next;
        status = joblog_count_to(r, begin);
        ASSAY_THEN(status, look_at(r, begin, line.stop, plain, &literals));
        if (!r->tracked && r->counted == begin && line.next > line.stop && r->bytes[line.stop] == '\n' && !cut) {
            r->line++; /* it was one line, as joblog_count_to() would find */
            r->counted = line.next;
        }
    }
    r->at = to;
    return status == ASSAY_OK ? joblog_count_to(r, to) : status;
}

/* ---- the whole file ---- */

/* UTF-16 is read by characters, which need some room. */
static bool is_full(const joblog_reader *r)
{
    return ROOM - r->have < ASSAY_UTF8_ROOM;
}

/* Forgets what is too far back, so that there is room. Not more of the room is used than has to be: to touch memory for the
 * first time costs more than to read a file. */
static void shift(joblog_reader *r)
{
    const size_t tail = joblog_tail_of(r), most = r->plain && tail > TAIL_KEPT ? (size_t)JOBLOG_LOOK_BACK : ROOM / 4,
                 keep = tail < most ? tail : most, /* of many ranks it is read again, see read_tail() */
        gone = r->at > keep ? r->at - keep : 0;
    if (r->have < 2 * keep + READ || (gone < keep && !is_full(r)))
        return;
    memmove(r->bytes, r->bytes + gone, r->have - gone);
    r->base += gone;
    r->have -= gone;
    r->at -= gone;
    r->counted -= gone;
}

/* Up to where lines are whole. One that goes on for long is looked at as far as it came. */
static size_t whole_to(const joblog_reader *r, bool ended)
{
    const char *feed = r->have > r->at ? memrchr(r->bytes + r->at, '\n', r->have - r->at) : NULL;
    const size_t whole = feed ? (size_t)(feed - r->bytes) + 1 : r->at;
    const bool full = is_full(r) && r->have - whole > WHOLE_LINE;
    return ended ? r->have : full ? r->have - JOBLOG_LINE_MOST / 4 : whole;
}

/* Do its lines say their ranks, and how? */
static void look_ahead(joblog_reader *r)
{
    int64_t said = 0, most = 0;
    for (size_t at = 0; at < r->have && at < TRACK_LOOK;) {
        const char *end = memchr(r->bytes + at, '\n', r->have - at);
        const size_t length = end ? (size_t)(end - r->bytes) - at : r->have - at;
        r->says_times = r->says_times || (at < TIMES_LOOK && joblog_may_have_time(r->bytes + at, length));
        if (joblog_may_say_rank(r->bytes + at, length)) {
            const int64_t per_node = joblog_per_node(r->bytes + at, length, &most);
            said = said ? said : per_node;
            r->tracked = r->tracked || joblog_rank_of(r->bytes + at, length, 0) >= 0;
        }
        at += length + 1;
    }
    r->per_node = said ? said : most;
}

/* Reads on, and goes through, what lies before byte `end` of the file. */
static int read_before(joblog_reader *r, assay_utf8 *file, uint64_t end, assay_error *err)
{
    bool ended = false;
    int status = ASSAY_OK;
    while (!ended && status == ASSAY_OK) {
        size_t got = 0;
        shift(r);
        const uint64_t left = end - (r->base + r->have);
        const size_t room = ROOM - r->have < READ ? ROOM - r->have : READ;
        status = assay_utf8_read(file, r->bytes + r->have, left < room ? (size_t)left : room, &got, err);
        if (status == ASSAY_EFORMAT || status == ASSAY_EIO) {
            r->out->cut = true;
            free(r->out->problem);
            r->out->problem = assay_copy_text(err->text);
            ended = true;
            status = r->out->problem ? ASSAY_OK : ASSAY_ENOMEM;
        }
        joblog_count_zeros(r, r->bytes + r->have, got, r->base + r->have);
        r->have += got;
        r->out->bytes += got;
        ended = ended || got == 0;
        ASSAY_THEN(status, go_through(r, whole_to(r, ended)));
    }
    return status;
}

/* Reads so many bytes at most into the reader's, from that one of the file on. */
static int read_at(joblog_reader *r, assay_utf8 *file, uint64_t at, size_t most, assay_error *err)
{
    size_t got = 1;
    int status = ASSAY_OK;
    (void)assay_utf8_seek(file, at);
    for (r->have = 0; r->have < most && got > 0 && status == ASSAY_OK; r->have += got)
        status = assay_utf8_read(file, r->bytes + r->have, most - r->have, &got, err);
    return status;
}

/* Where the piece begins that the byte would begin: behind the end of a line, or in one that has none for long. */
static int find_cut(joblog_reader *r, assay_utf8 *file, uint64_t *at, assay_error *err)
{
    if (*at == 0 || *at == UINT64_MAX)
        return ASSAY_OK;
    const int status = read_at(r, file, *at, WHOLE_LINE, err);
    const char *end = memchr(r->bytes, '\n', r->have);
    end = end ? end : memchr(r->bytes, '\r', r->have);
    *at += end ? (size_t)(end - r->bytes) + 1 : r->have;
    return status;
}

/* Forgets what lies before a piece, but blocks that go on in it. */
static int begin_piece(joblog_reader *r)
{
    const assay_log_file *const before = r->out;
    assay_log_file empty = {
        .file = before->file, .piece = before->piece, .cut = before->cut, .problem = before->problem};
    r->out->problem = NULL;
    assay_log_file_release(r->out);
    *r->out = empty;
    r->rank_row.count = r->row_first.count = 0;
    r->begins = false;
    memset(r->memo, 0, r->memos * sizeof *r->memo);
    memset(r->texts, 0, sizeof r->texts);
    joblog_blocks_renumber(r, r->line);
    r->line = 1;
    return joblog_make_table(r, r->slot.count) ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Reads the end of a file, from its byte `first` on, anew where less of it is in memory than says what its ranks did in the end:
 * most of them came up late. */
static int read_tail(joblog_reader *r, assay_utf8 *file, uint64_t first, assay_error *err)
{
    const size_t tail = joblog_tail_of(r), most = tail < ROOM ? tail + 1 : ROOM; /* and what stands before it */
    const uint64_t total = r->base + r->have;
    if (r->have >= most || r->base == first)
        return ASSAY_OK;
    r->base = total - first > most ? total - most : first;
    return read_at(r, file, r->base, (size_t)(total - r->base), err);
}

static int read_part(joblog_reader *r, assay_utf8 *file, const char *path, const assay_log_part *part, assay_error *err)
{
    const bool plain = r->plain = assay_utf8_seek(file, 0);
    const uint64_t first = plain ? part->from : 0;
    uint64_t from = plain ? first + part->number * part->bytes : 0,
             lead = part->number > 0 && from > LEAD ? from - LEAD : first,
             end = plain && part->number + 1 < part->pieces ? from + part->bytes : UINT64_MAX;
    int status = ASSAY_OK;
    if (!plain && (part->number > 0 || part->from > 0))
        return ASSAY_OK;
    if (plain && part->number > 0) {
        status = find_cut(r, file, &lead, err);
        ASSAY_THEN(status, find_cut(r, file, &from, err));
    }
    if (plain)
        ASSAY_THEN(status, find_cut(r, file, &end, err));
    ASSAY_THEN(status, read_at(r, file, first, TRACK_LOOK, err));
    look_ahead(r);
    r->base = lead;
    if (plain && (from > first || end < TRACK_LOOK)) {
        (void)assay_utf8_seek(file, lead);
        r->have = 0;
    }
    r->out->bytes = r->have;
    joblog_count_zeros(r, r->bytes, r->have, r->base);
    if (status == ASSAY_OK && from > first) {
        status = read_before(r, file, from, err);
        r->zeros = 0; /* the piece before names them */
        ASSAY_THEN(status, begin_piece(r));
    }
    ASSAY_THEN(status, read_before(r, file, end, err));
    r->out->lines = r->line - 1;
    ASSAY_THEN(status, joblog_name_zeros(r, path));
    if (status == ASSAY_OK && end == UINT64_MAX) {
        r->out->lines += r->have == 0 || r->bytes[r->have - 1] != '\n';
        if (plain && !r->out->cut)
            status = read_tail(r, file, first, err);
        ASSAY_THEN(status, joblog_read_end(r));
        ASSAY_THEN(status, joblog_last_words(r));
    }
    return status;
}

uint32_t assay_log_pieces(uint64_t bytes, uint64_t piece)
{
    const uint64_t most = 1 << 20, pieces = bytes / piece;
    return pieces < 1 ? 1 : pieces < most ? (uint32_t)pieces : (uint32_t)most;
}

/* UINT64_MAX: it is not known how much it unpacks to. */
static uint64_t text_size_of(assay_utf8 *file)
{
    return assay_utf8_seek(file, 0) ? assay_unpacked_size(assay_utf8_bytes(file)) : UINT64_MAX;
}

int assay_job_log_read(assay_job_log *log, assay_store *store, const char *path, const assay_log_part *part,
                       assay_log_file *out, assay_error *err)
{
    enum { SLOTS = 64 };
    assay_utf8 *file = NULL;
    assay_error why = {""};
    *out = (assay_log_file){.file = part->file, .piece = part->number};
    joblog_reader r = {.log = log,
                       .out = out,
                       .events_most = part->events,
                       .line = part->lines + 1,
                       .listed = INFINITY,
                       .chained_rank = INT64_MIN,
                       .unasked = MEMOS_FROM,
                       .first_front = UINT64_MAX,
                       .begins = true};
    int status = assay_utf8_open(store, path, &file, &why);
    if (status != ASSAY_OK && status != ASSAY_ENOMEM) {
        out->cut = true;
        out->problem = assay_copy_text(why.text);
        return out->problem ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    }
    if (status == ASSAY_OK)
        status = joblog_room_take(&log->room, text_size_of(file), &r);
    r.writers = assay_dict_new();
    if (status == ASSAY_OK && (!r.writers || !joblog_make_table(&r, SLOTS)))
        status = ASSAY_ENOMEM;
    ASSAY_THEN(status, read_part(&r, file, path, part, &why));
    if (status != ASSAY_OK && status != ASSAY_ENOMEM) { /* where it would be cut cannot be read */
        out->cut = true;
        free(out->problem);
        out->problem = assay_copy_text(why.text);
        status = out->problem ? ASSAY_OK : ASSAY_ENOMEM;
    }
    joblog_file_fit(out);
    assay_utf8_close(file);
    free(r.block.list);
    free(r.block_row.list);
    assay_dict_free(r.writers);
    free(r.rank_row.list);
    free(r.row_first.list);
    free(r.shapes.list);
    free(r.process.list);
    free(r.slot.list);
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s: out of memory for its lines", path);
}

/* ---- the last lines of a rank ---- */

/* Reads until the line at byte `at` of the file is the last one in memory. */
static int read_to(joblog_reader *r, assay_utf8 *file, uint64_t at, assay_error *err)
{
    size_t got = 1;
    while (got > 0) {
        const char *feed = NULL;
        if (is_full(r)) {
            memmove(r->bytes, r->bytes + ROOM / 2, ROOM - ROOM / 2);
            r->have -= ROOM / 2;
            r->base += ROOM / 2;
        }
        const int status = assay_utf8_read(file, r->bytes + r->have, ROOM - r->have, &got, err);
        if (status != ASSAY_OK) /* what is damaged has an end, too */
            return status == ASSAY_EFORMAT || status == ASSAY_EIO ? ASSAY_OK : status;
        r->have += got;
        if (r->have == got && r->base == 0)
            look_ahead(r);
        const uint64_t from = at > r->base ? at - r->base : 0;
        if (from < r->have)
            feed = memchr(r->bytes + from, '\n', r->have - from);
        if (feed) {
            r->have = (size_t)(feed - r->bytes);
            break;
        }
    }
    return ASSAY_OK;
}

/* Puts the last lines of a rank, or of a file whose lines have none, as far as they are in memory. */
static void put_tail(const joblog_reader *r, const joblog_masks *masks, int64_t rank, assay_buf *out)
{
    char clean[JOBLOG_LINE_MOST];
    size_t begin[ASSAY_LOG_TAIL], stop[ASSAY_LOG_TAIL], count = 0, end = r->have;
    while (end > 0 && count < ASSAY_LOG_TAIL) {
        while (end > 0 && joblog_is_end(r->bytes[end - 1]))
            end--;
        size_t from = end;
        while (from > 0 && !joblog_is_end(r->bytes[from - 1]))
            from--;
        if (end > from && (!r->tracked || joblog_rank_of(r->bytes + from, end - from, r->per_node) == rank)) {
            begin[count] = from;
            stop[count++] = end;
        }
        end = from;
    }
    while (count-- > 0) {
        const size_t whole = stop[count] - begin[count],
                     size = joblog_clean(r->bytes + begin[count], whole < sizeof clean ? whole : sizeof clean, clean);
        joblog_mask(masks, clean, size < QUOTE_MOST ? size : QUOTE_MOST, out);
        assay_put_u8(out, '\n');
    }
}

int assay_job_log_tail(assay_store *store, const char *path, const assay_log_rank *row, char **out, assay_error *err)
{
    assay_utf8 *file = NULL;
    joblog_masks *masks = NULL;
    assay_buf text;
    joblog_reader r = {.bytes = assay_alloc(ROOM)};
    *out = NULL;
    assay_buf_init(&text, 1 << 20);
    int status = r.bytes ? joblog_masks_new(&masks, err) : ASSAY_ENOMEM;
    ASSAY_THEN(status, assay_utf8_open(store, path, &file, err));
    if (status == ASSAY_OK && row->last_at > ROOM && assay_utf8_seek(file, 0)) { /* the rest lies too far before */
        status = read_at(&r, file, 0, TRACK_LOOK, err);
        look_ahead(&r);
        r.have = 0;
        r.base = row->last_at - ROOM / 2;
        (void)assay_utf8_seek(file, r.base);
    }
    ASSAY_THEN(status, read_to(&r, file, row->last_at, err));
    if (status == ASSAY_OK)
        put_tail(&r, masks, row->rank, &text);
    assay_utf8_close(file);
    joblog_masks_free(masks);
    free(r.bytes);
    *out = joblog_take_text(&text);
    return *out ? status : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for its last lines", path);
}
