/* demand.c - see demand.h. */
#include "engine/plan/demand.h"

#include <stdlib.h>

#include "base/fault.h"

int assay_demand_init(assay_demand *w, const assay_plan *plan, uint32_t source)
{
    *w = (assay_demand){.plan = plan, .source = &plan->sources[source], .ways = 1};
    assay_spreads_init(&w->spreads, plan, w->source);
    if (!w->spreads.more)
        w->ways <<= w->spreads.count;
    const size_t room = (size_t)ASSAY_MODES * 2 * w->source->class_count * w->ways, each = plan->measure_count + 1;
    w->of = assay_alloc_zeroed(room, sizeof *w->of);
    w->measure = assay_alloc_zeroed(room, each * sizeof *w->measure);
    ASSAY_HAVE(w->of && w->measure);
    for (size_t c = 0; c < room; c++)
        w->of[c].measure = &w->measure[c * each];
    return ASSAY_OK;
}

void assay_demand_release(assay_demand *w)
{
    free(w->of);
    free(w->measure);
    *w = (assay_demand){0};
}

/* What a measure costs a byte of large float32 tensors beside reading and statistics, in parts of ASSAY_COST_UNIT:
 * measured (a unit is 0.05 ns an element), and only for sharing the work out. A comparison goes through a second
 * tensor, which is at hand as a rule; where only its outcome is wanted, many are decided by their first elements, and
 * single precision does for the others. */
static uint32_t byte_cost_of(const assay_measure *measure)
{
    static const uint32_t costs[ASSAY_MEASURE_KINDS] = {
        [ASSAY_MEASURE_UNITS] = 3,      [ASSAY_MEASURE_EQUALS] = 5,    [ASSAY_MEASURE_CHANNELS] = 6,
        [ASSAY_MEASURE_QUANTILES] = 10, [ASSAY_MEASURE_CHANGE] = 8,    [ASSAY_MEASURE_CLASSES] = 28,
        [ASSAY_MEASURE_VALUES] = 5,     [ASSAY_MEASURE_TEXTS] = 5,     [ASSAY_MEASURE_DIGEST] = 4,
        [ASSAY_MEASURE_BELOW] = 5,      [ASSAY_MEASURE_FIRST_BAD] = 0, [ASSAY_MEASURE_IMAGES] = 28,
        [ASSAY_MEASURE_NEGATIVE] = 2,   [ASSAY_MEASURE_MOMENTS] = 8,   [ASSAY_MEASURE_ROWS] = 5,
        [ASSAY_MEASURE_SKETCH] = 10,    [ASSAY_MEASURE_FUNCTION] = 30, [ASSAY_MEASURE_ZERO_RUNS] = 0,
    };
    if (measure->kind == ASSAY_MEASURE_CHANGE &&
        (measure->figures == ASSAY_CHANGE_SQUARES || measure->figures == ASSAY_CHANGE_DISTANCE))
        return 6;
    if (measure->kind == ASSAY_MEASURE_CHANGE &&
        (measure->figures == ASSAY_CHANGE_CLOSE || measure->figures == ASSAY_CHANGE_MOVED))
        return 3;
    return costs[measure->kind];
}

/* Adds what the packed result of a measure takes: of large tensors that is what it keeps of elements, classes or texts,
 * or a hundredth for numbers of each row, column or unit (built-in rules: 11 kB of 1 MB, 41 kB of 4 MB). */
static void add_result(const assay_measure *measure, assay_record_demand *wanted)
{
    enum { NUMBERS = 64, BYTES_OF_ELEMENT = 4 };
    uint64_t most = UINT64_MAX;
    switch (measure->kind) {
    case ASSAY_MEASURE_VALUES: /* number[0]: of so many elements; those of other kinds mean something else, and may be NaN */
        most = measure->numbers > 0 ? (uint64_t)measure->number[0] * BYTES_OF_ELEMENT : most;
        wanted->result.small = most > wanted->result.small ? most : wanted->result.small;
        break;
    case ASSAY_MEASURE_IMAGES:
        wanted->result.parts += 2 * ASSAY_RESULT_UNIT;
        break;
    case ASSAY_MEASURE_CLASSES:
    case ASSAY_MEASURE_TEXTS:
        wanted->result.parts += ASSAY_RESULT_UNIT;
        break;
    case ASSAY_MEASURE_UNITS:
    case ASSAY_MEASURE_CHANNELS:
    case ASSAY_MEASURE_ROWS:
    case ASSAY_MEASURE_SKETCH:
        wanted->result.parts = wanted->result.parts > 0 ? wanted->result.parts : 1;
        break;
    default:
        wanted->result.bytes += NUMBERS;
    }
}

/* Adds the measures that one use asks for to those wanted. */
static void add_measures(const assay_plan *plan, const assay_use *use, assay_record_demand *wanted)
{
    const assay_need *need = assay_job_instance(plan->job, use->instance)->need;
    for (uint32_t k = 0; k < need->measure_count; k++) {
        uint32_t number = plan->measure_number[use->instance][k], at = 0;
        if (need->measure_slot[k] != use->slot)
            continue;
        while (at < wanted->measures && wanted->measure[at] != number)
            at++;
        if (at < wanted->measures)
            continue;
        wanted->measure[wanted->measures++] = number;
        wanted->byte_cost += byte_cost_of(&plan->measures[number]);
        add_result(&plan->measures[number], wanted);
    }
}

/* Narrows the steps at which the demand is the same to those on this side of the scope's borders; to this one, if it is
 * not told apart which evenly spaced steps are taken. */
static void narrow(assay_record_demand *wanted, const assay_use_scope *scope, bool apart, int64_t step)
{
    const int64_t borders[] = {scope->from, scope->to, step, step < INT64_MAX ? step + 1 : step};
    for (int i = 0; i < (scope->spread && !apart ? 4 : 2); i++) {
        wanted->from = borders[i] <= step && borders[i] > wanted->from ? borders[i] : wanted->from;
        wanted->to = borders[i] > step && borders[i] < wanted->to ? borders[i] : wanted->to;
    }
}

enum { STATISTICS = 256 }; /* bytes of a result without measures */

static void find(const assay_demand *w, const assay_use_class *class, const assay_part *part, int mode, bool piece,
                 assay_record_demand *wanted)
{
    *wanted = (assay_record_demand){.from = INT64_MIN,
                                    .to = INT64_MAX,
                                    .worker = ASSAY_ALL_WORKERS,
                                    .byte_cost = ASSAY_COST_UNIT,
                                    .result = {.bytes = STATISTICS},
                                    .measure = wanted->measure};
    for (uint32_t u = 0; u < class->uses; u++) {
        const assay_use_scope *scope = &w->source->scope[class->use[u]];
        const assay_use *use = &w->plan->uses[class->use[u]];
        narrow(wanted, scope, !w->spreads.more, part->step);
        wanted->worker = scope->worker == ASSAY_ALL_WORKERS ? wanted->worker : part->worker;
        if ((piece && !(scope->kinds >> ASSAY_PIECE & 1)) ||
            !assay_scope_wants(scope, part->step, mode, part->worker, __builtin_ctz(scope->kinds)))
            continue;
        wanted->kinds |= scope->kinds;
        const assay_need *need = assay_job_instance(w->plan->job, use->instance)->need;
        wanted->statistics |= !(need->slots[use->slot].flags & ASSAY_SLOT_TIME_ONLY);
        add_measures(w->plan, use, wanted);
    }
}

const assay_record_demand *assay_demand_of(assay_demand *w, const assay_part *part, int mode, const assay_entry *entry)
{
    const uint32_t number = w->source->tensor_class[entry->tensor];
    const bool piece = entry->kind == ASSAY_PIECE;
    const uint32_t way = w->spreads.more ? 0 : assay_spreads_taken(&w->spreads, part->step, mode);
    assay_record_demand *wanted =
        &w->of[(((size_t)mode * 2 + piece) * w->source->class_count + number) * w->ways + way];
    const bool known = part->step >= wanted->from && part->step < wanted->to &&
                       (wanted->worker == ASSAY_ALL_WORKERS || wanted->worker == part->worker);
    if (!known)
        find(w, &w->source->classes[number], part, mode, piece, wanted);
    return wanted;
}
