/* steal.c - see steal.h. */
#include "engine/steal.h"

#include "base/clock.h"
#include "base/pause.h"

enum {
    MOST_ASKED = 16, /* neighbours, before a rank is content that there is no work */
    RATE_BITS = 32,
    RANK_BITS = 24,
};
static const double LEAST_SECONDS = 0.002; /* of work that is worth moving */
static const double MORE = 1.1;            /* what moves takes longer: references are read again, and results sent */
static const uint64_t USUAL_RATE = 300000; /* nanoseconds a mebibyte, of ranks that did nothing yet */

/* What ranks tell each other. A word holds the kind, the rank that says it, and with ASK its speed. */
typedef enum word_kind { ASK = 1, GIVE, NOTHING, ENDED, ALL_ENDED } word_kind;

/* ---- words ---- */

static int say(const assay_steal *m, int to, word_kind kind, uint64_t rate)
{
    return assay_comm_note(m->comm, to, kind | (uint64_t)assay_comm_rank(m->comm) << 3 | rate << (3 + RANK_BITS));
}

static word_kind kind_of(uint64_t word)
{
    return (word_kind)(word & 7);
}

static int rank_of(uint64_t word)
{
    return (int)(word >> 3 & ((1 << RANK_BITS) - 1));
}

/* Nanoseconds that a mebibyte of cost took this rank. */
static uint64_t rate_of(const assay_steal *m)
{
    double seconds = assay_clock_seconds() - m->start, rate = 1e9 * seconds * 0x1p20 / (double)(m->cost + 1);
    return m->cost == 0 ? 0 : rate < (double)UINT32_MAX ? (uint64_t)rate : UINT32_MAX;
}

/* ---- the rank that is behind ---- */

void assay_steal_begin(assay_steal *m, assay_comm *comm, const assay_plan *plan, assay_sources *sources,
                       assay_mapper *mapper, uint64_t end)
{
    *m = (assay_steal){
        .comm = comm, .plan = plan, .sources = sources, .mapper = mapper, .start = assay_clock_seconds(), .end = end};
    assay_buf_init(&m->sent, SIZE_MAX);
}

void assay_steal_release(assay_steal *m)
{
    for (int i = 0; i < ASSAY_STEALS_MOST; i++)
        assay_buf_release(&m->stolen[i].results);
    assay_buf_release(&m->sent);
}

/* What chunks come to that may be given away. */
typedef struct gift {
    double cost;      /* for the other rank, */
    double saved;     /* and for this one, which has measured some of it early */
    uint64_t results; /* bytes that they take */
} gift;

static gift with_chunk(gift g, const assay_steal *m, uint64_t number)
{
    const assay_chunk *chunk = &m->plan->chunks[number];
    g.cost += (double)chunk->cost;
    g.saved += (double)assay_mapper_cost_left(m->mapper, number);
    g.results += chunk->results;
    return g;
}

/* The first of the chunks from `at` to m->end to give to a rank of that rate; m->end: none. They are of one source, the
 * one that is next stays, and their results fit `room`. */
static uint64_t choose(const assay_steal *m, uint64_t at, uint64_t rate, size_t room)
{
    const assay_chunk *chunks = m->plan->chunks;
    uint64_t own = rate_of(m), first = m->end;
    double left = 0;
    gift given = {0};
    own = own > 0 ? own : rate > 0 ? rate : USUAL_RATE;
    const double slower = MORE * (double)(rate > 0 ? rate : own) / (double)own;
    for (uint64_t c = at; c < m->end; c++)
        left += (double)assay_mapper_cost_left(m->mapper, c);
    while (first > at + 1 && chunks[first - 1].source == chunks[m->end - 1].source && !chunks[first - 1].done) {
        const gift more = with_chunk(given, m, first - 1);
        /* The other rank has to be through with it before this one would come to it. */
        if (more.cost * slower > left - given.saved || more.results > room)
            break;
        given = more;
        first--;
    }
    return given.saved * (double)own * 0x1p-20 >= 1e9 * LEAST_SECONDS ? first : m->end;
}

/* A place for chunks to give away; those that it had before the mapper has passed by. *room: what the others leave of
 * the memory for results. */
static assay_stolen_chunks *free_place(assay_steal *m, uint64_t at, size_t *room)
{
    assay_stolen_chunks *place = NULL;
    *room = m->mapper->measured_room < ASSAY_COMM_POST_MOST ? m->mapper->measured_room : ASSAY_COMM_POST_MOST;
    for (int i = 0; i < ASSAY_STEALS_MOST; i++)
        if (m->stolen[i].end <= at && (m->stolen[i].came || m->stolen[i].end == 0))
            place = &m->stolen[i];
        else
            *room -= m->stolen[i].room < *room ? m->stolen[i].room : *room;
    return place;
}

/* What the results of chunks from `first` on may take: more than expected, but not all of `room` where others may ask. */
static size_t room_for(const assay_steal *m, uint64_t first, size_t room)
{
    gift given = {0};
    for (uint64_t c = first; c < m->end; c++)
        given = with_chunk(given, m, c);
    const uint64_t most = 2 * given.results;
    return most < room ? (size_t)most : room;
}

static int answer(assay_steal *m, uint64_t at, uint64_t word)
{
    const int to = rank_of(word);
    size_t room = 0;
    assay_stolen_chunks *place = at < m->end ? free_place(m, at, &room) : NULL;
    const uint64_t first = place ? choose(m, at, word >> (3 + RANK_BITS), room) : m->end;
    room = room_for(m, first, room);
    assay_buf bytes = ASSAY_BUF(SIZE_MAX);
    assay_put_u64(&bytes, first);
    assay_put_u64(&bytes, m->end);
    assay_put_u64(&bytes, room);
    if (first == m->end || assay_plan_pack_steps(m->plan, m->sources, first, m->end, &bytes) != ASSAY_OK) {
        assay_buf_release(&bytes);
        return say(m, to, NOTHING, 0);
    }
    int status = say(m, to, GIVE, 0), sent = assay_comm_send(m->comm, to, &bytes);
    assay_buf_release(&bytes);
    assay_buf_release(&place->results);
    *place = (assay_stolen_chunks){.rank = to, .first = first, .end = m->end, .room = room};
    assay_buf_init(&place->results, SIZE_MAX);
    m->end = first;
    if (m->mapper->end_chunk > first)
        m->mapper->end_chunk = first;
    return status == ASSAY_OK ? sent : status;
}

int assay_steal_border(assay_steal *m, uint64_t at)
{
    uint64_t word;
    int got = 0, status = ASSAY_OK;
    while (m->plan->moves && status == ASSAY_OK && (got = assay_comm_note_take(m->comm, &word)) > 0) {
        m->ended += kind_of(word) == ENDED;
        if (kind_of(word) == ASK)
            status = answer(m, at, word);
    }
    return got < 0 ? got : status;
}

static assay_stolen_chunks *find_stolen(assay_steal *m, uint64_t chunk)
{
    for (int i = 0; i < ASSAY_STEALS_MOST; i++)
        if (m->stolen[i].first <= chunk && chunk < m->stolen[i].end)
            return &m->stolen[i];
    return NULL;
}

/* The stolen chunks whose results come next from a rank, which measures what it was given in that order. */
static assay_stolen_chunks *next_of(assay_steal *m, int rank)
{
    assay_stolen_chunks *next = NULL;
    for (int i = 0; i < ASSAY_STEALS_MOST; i++) {
        assay_stolen_chunks *stolen = &m->stolen[i];
        if (stolen->end > 0 && !stolen->came && stolen->rank == rank && (!next || stolen->first > next->first))
            next = stolen; /* what is given later lies before it */
    }
    return next;
}

/* Receives the next results of a rank. They have come then, also if there was no memory for them: nobody sends them
 * again. */
static int receive_from(assay_steal *m, int rank)
{
    assay_stolen_chunks *stolen = next_of(m, rank);
    if (!stolen)
        return ASSAY_EINTERNAL;
    const int status = assay_comm_receive_post(m->comm, ASSAY_POST_MOVED, rank, &stolen->results);
    stolen->came = true;
    stolen->from = assay_cursor_over(stolen->results.data, stolen->results.size);
    stolen->steps = (assay_measured_steps){.from = &stolen->from, .part = &stolen->part, .ranks = 1};
    return status == ASSAY_OK ? assay_buf_status(&stolen->results) : status;
}

int assay_steal_before(assay_steal *m, uint64_t at)
{
    assay_stolen_chunks *g = find_stolen(m, at);
    int status = ASSAY_OK;
    while (g && !g->came && status == ASSAY_OK)
        status = receive_from(m, g->rank);
    if (m->plan->moves)
        m->mapper->measured = g ? &g->steps : NULL;
    return status;
}

void assay_steal_after(assay_steal *m, uint64_t at)
{
    if (!m->plan->moves)
        return;
    m->cost += m->mapper->measured || m->plan->chunks[at].done ? 0 : m->plan->chunks[at].cost;
    m->mapper->measured = NULL;
}

/* ---- the rank that is done ---- */

/* Measures what rank `from` gives and sends it the results; nothing where that fails. */
static int work_for(assay_steal *m, int from, assay_error *err)
{
    assay_buf steps = ASSAY_BUF(SIZE_MAX);
    assay_buf_clear(&m->sent);
    int status = assay_comm_receive(m->comm, from, &steps);
    ASSAY_THEN(status, assay_buf_status(&steps));
    assay_cursor head = assay_cursor_over(steps.data, steps.size);
    const uint64_t first = assay_get_u64(&head), end = assay_get_u64(&head), room = assay_get_u64(&head);
    if (status == ASSAY_OK && !head.failed) {
        const assay_buf entries = {.data = steps.data + head.at, .size = steps.size - head.at};
        assay_mapper_leave(m->mapper);
        status = assay_plan_unpack_steps(&m->sources->list[m->plan->chunks[first].source].shard, &entries, err);
    }
    assay_buf_release(&steps);
    ASSAY_THEN(status, assay_mapper_measure_steps(m->mapper, first, end, (size_t)room, &m->sent, err));
    if (status != ASSAY_OK || assay_buf_status(&m->sent) != ASSAY_OK)
        assay_buf_clear(&m->sent); /* the other rank measures them itself */
    int posted = assay_comm_post(m->comm, ASSAY_POST_MOVED, from, &m->sent);
    return status == ASSAY_OK ? posted : status;
}

/* The next rank to ask, near ones first; -1: all were asked. */
static int next_candidate(const assay_steal *m, int *next)
{
    const int rank = assay_comm_rank(m->comm), size = assay_comm_size(m->comm);
    while (*next < MOST_ASKED) {
        int distance = *next / 2 + 1, other = *next % 2 ? rank - distance : rank + distance;
        ++*next;
        if (other >= 0 && other < size)
            return other;
    }
    return -1;
}

/* A rank that is done: whom it asks, and whether it waits for an answer. */
typedef struct search {
    int next; /* of the candidates */
    bool waits, gave_up;
} search;

/* Acts on one word. 1: all ranks have ended. */
static int act_on(assay_steal *m, uint64_t word, search *s, int *failed, assay_error *err)
{
    switch (kind_of(word)) {
    case ASK:
        return say(m, rank_of(word), NOTHING, 0);
    case NOTHING:
        s->waits = false;
        return ASSAY_OK;
    case GIVE:
        s->waits = false;
        s->next = 0;
        int status = work_for(m, rank_of(word), err);
        *failed = *failed == ASSAY_OK ? status : *failed;
        return status == ASSAY_EMPI ? status : ASSAY_OK;
    case ENDED:
        m->ended++;
        return ASSAY_OK;
    default:
        return 1;
    }
}

/* Asks the next neighbour, or says that there is no more to ask. */
static int go_on(assay_steal *m, search *s, bool failed, uint64_t rate)
{
    int other = failed ? -1 : next_candidate(m, &s->next);
    if (other >= 0) {
        s->waits = true;
        return say(m, other, ASK, rate);
    }
    s->gave_up = true;
    if (assay_comm_rank(m->comm) > 0)
        return say(m, 0, ENDED, 0);
    m->ended++;
    return ASSAY_OK;
}

int assay_steal_finish(assay_steal *m, int status, assay_error *err)
{
    const int rank = assay_comm_rank(m->comm), size = assay_comm_size(m->comm);
    const uint64_t rate = rate_of(m);
    search s = {.next = 0};
    assay_pause pause = {0};
    int rc = ASSAY_OK;
    for (int i = 0; i < ASSAY_STEALS_MOST; i++) /* of one that failed before it came to them */
        while (rc == ASSAY_OK && m->stolen[i].end > 0 && !m->stolen[i].came) {
            const int came = receive_from(m, m->stolen[i].rank);
            status = status == ASSAY_OK ? came : status;
            rc = came == ASSAY_EMPI ? came : ASSAY_OK; /* the others wait for a word of every rank */
        }
    while (m->plan->moves && rc == ASSAY_OK) {
        uint64_t word;
        int got = assay_comm_note_take(m->comm, &word), posted = assay_comm_posted(m->comm, ASSAY_POST_MOVED);
        if (got < 0 || posted < 0) {
            rc = ASSAY_EMPI;
        } else if (got > 0) {
            rc = act_on(m, word, &s, &status, err);
            pause = (assay_pause){0};
        } else if (!s.waits && !s.gave_up && posted) {
            rc = go_on(m, &s, status != ASSAY_OK, rate);
        } else if (rank == 0 && m->ended == size) {
            rc = 1;
        } else {
            assay_progress_look(m->mapper->pool.progress);
            assay_pause_take(&pause);
        }
    }
    for (int r = 1; rank == 0 && rc == 1 && r < size; r++)
        if (say(m, r, ALL_ENDED, 0) != ASSAY_OK)
            rc = ASSAY_EMPI;
    return rc < 0 && status == ASSAY_OK ? rc : status;
}
