/* collective_slow.c - CollectiveSlow: a collective takes longer in one group than in others, or longer than it did.
 *
 * The transfer of an operation is its shortest kernel: the last rank waits for nobody. Operations of one kind have the
 * same name, type, numbers of elements and size of group.
 *   groups   per kind and group: fires when the lower median m of its transfers exceeds `ratio` times the lower median
 *            of those of the other groups, and by more than min_seconds
 *   history  per operation, of kinds with five or more in the group: fires when it took more than `spike` times m */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "traced.h"

enum { TEST_GROUPS, TEST_HISTORY, LEAST_HISTORY = 5, WORDS = 320 };

static const assay_param_def params[] = {
    ASSAY_REAL_PARAM("ratio", "1.5", 0, 1e308,
                     "A group is slow if its transfers take so many times those of other groups."),
    ASSAY_REAL_PARAM("spike", "3", 0, 1e308,
                     "An operation is slow if its transfer takes so many times the group's median."),
    ASSAY_REAL_PARAM("min_seconds", "0.0005", 0, 1e308, "What takes no more than these seconds longer is not slow."),
    {0},
};

/* Bytes of an element; 0: not known. */
static int size_of(const char *dtype)
{
    static const struct {
        const char *name;
        int size;
    } sizes[] = {{"Float", 4},         {"Half", 2},        {"BFloat16", 2},        {"Double", 8},
                 {"Long", 8},          {"Int", 4},         {"Short", 2},           {"Char", 1},
                 {"Byte", 1},          {"Bool", 1},        {"ComplexFloat", 8},    {"ComplexDouble", 16},
                 {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"Float8_e4m3fnuz", 1}, {"Float8_e5m2fnuz", 1},
                 {"UInt16", 2},        {"UInt32", 4},      {"UInt64", 8},          {0}};
    for (size_t i = 0; sizes[i].name; i++)
        if (strcmp(sizes[i].name, dtype) == 0)
            return sizes[i].size;
    return 0;
}

static bool is_all_reduce(const char *operation)
{
    const char *p = strcasestr(operation, "all");
    return p && (strncasecmp(p, "allreduce", 9) == 0 || strncasecmp(p, "all_reduce", 10) == 0);
}

/* What the links of a ring carry in a second; NAN: not known. */
static double bytes_a_second(const assay_trace_group *group, const assay_trace_class *class)
{
    const double n = group->members, elements = (double)(class->in > class->out ? class->in : class->out);
    const double share = (is_all_reduce(class->operation) ? 2 : 1) * (n - 1) / n;
    if (elements <= 0 || size_of(class->dtype) == 0 || class->median <= 0)
        return NAN;
    return elements * size_of(class->dtype) * share / ((double)class->median / 1e9);
}

/* "all_reduce of group 3, ranks 0, 1" */
static const char *in_words(const traced *t, const assay_trace_class *class, char room[WORDS])
{
    const int used = snprintf(room, WORDS, "%.60s of ", class->operation);
    traced_group_in_words(t, class->group, room + used, WORDS - (size_t)used);
    return room;
}

static void put_class(traced *t, const assay_trace_class *class)
{
    traced_put_group(t, class->group);
    traced_put_text(t, "desc", class->description);
    traced_put_text(t, "operation", class->operation);
    traced_put_number(t, "elements", class->in >= 0 ? (double)class->in : (double)NAN);
    traced_put_text(t, "dtype", class->dtype);
}

static void test_groups(traced *t, const assay_trace_class *class)
{
    const double ratio = assay_param_real(t->rule->params, "ratio");
    const double least = assay_param_real(t->rule->params, "min_seconds") * 1e9;
    const double median = (double)class->median, others = (double)class->others;
    char note[WORDS];
    const bool fired = class->others >= 0 && median > ratio * others && median - others > least;
    if (fired) {
        const double rate = bytes_a_second(&t->data->group[class->group], class);
        traced_extra(t);
        put_class(t, class);
        traced_put_integer(t, "median_ns", class->median);
        traced_put_integer(t, "others_ns", class->others);
        traced_put_integer(t, "operations", (int64_t) class->operations);
        traced_put_number(t, "bytes_s", rate);
    }
    traced_test(t, fired,
                &(traced_finding){.step = ASSAY_NO_TIME,
                                  .rank = -1,
                                  .test = TEST_GROUPS,
                                  .value = others > 0 ? median / others : 0,
                                  .threshold = ratio,
                                  .note = in_words(t, class, note)});
}

static void test_history(traced *t, const assay_trace_class *class)
{
    const double spike = assay_param_real(t->rule->params, "spike");
    const double least = assay_param_real(t->rule->params, "min_seconds") * 1e9;
    const double median = (double)class->median;
    char note[WORDS];
    for (uint64_t i = 0; i < class->operations && class->operations >= LEAST_HISTORY; i++) {
        const assay_trace_transfer *one = &t->data->transfer[class->first + i];
        const int64_t step = t->data->step[one->step];
        const double duration = (double)one->duration;
        if (!traced_sees_step(t, step))
            continue;
        const bool fired = duration > spike * median && duration - median > least;
        if (fired) {
            traced_extra(t);
            put_class(t, class);
            traced_put_integer(t, "duration_ns", one->duration);
            traced_put_integer(t, "median_ns", class->median);
            traced_put_integer(t, "number", one->number);
        }
        traced_test(t, fired,
                    &(traced_finding){.step = step,
                                      .rank = -1,
                                      .test = TEST_HISTORY,
                                      .value = median > 0 ? duration / median : 0,
                                      .threshold = spike,
                                      .note = in_words(t, class, note)});
    }
}

static void evaluate(traced *t)
{
    for (size_t i = 0; i < t->data->classes; i++) {
        test_groups(t, &t->data->kind[i]);
        test_history(t, &t->data->kind[i]);
    }
    if (t->datapoints == 0)
        assay_verdict_no_data(t->verdict, "no collective of the traces was matched between all ranks of its group.");
}

TRACED_FINALIZE(evaluate)

const assay_rule_ops assay_rule_collective_slow = {
    ASSAY_RULE_HEAD,
    .name = "CollectiveSlow",
    .summary = "A collective takes longer in one group than in others, or longer than it did before.",
    .advice = "Look at the links between the ranks of the group.",
    .remedies = ASSAY_TEXTS(
        "Look at the links between the group's ranks: a port that fell back to a lower rate, errors, a busy switch.",
        "See whether another job shares those links.",
        "Check the group's placement: ranks of one group on more nodes, or without the fast links between them."),
    .tests = ASSAY_TEXTS("groups", "history"),
    .value_units = ASSAY_TEXTS("times as long"),
    .sentences = ASSAY_TEXTS("a collective took {value} times as long in one group as in the others{note}",
                             "a collective took {value} times as long at {when} as it does in its group{note}"),
    .params = params,
    TRACED_RULE_STATE,
    .finalize = finalize,
};
