/* test_laws.c - the laws of assay/rule.h, over every registered rule and aggregation, without naming one. */
#include "unit.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "rule/params.h"
#include "rule/verdict.h"
#include "not_finite.h"
#include "told.h"
#include "variants.h"
#include "world.h"

enum { SEEDS = 3, ALL_CUTS_BELOW = UNIT_SANITIZED ? 100 : 600, DAMAGES = UNIT_SANITIZED ? 60 : 200 };

static void put_verdict(const assay_verdict *v, assay_buf *out)
{
    assay_put_format(out, "%d ", v->status);
    assay_findings_pack(v->findings, out);
    assay_put_bytes(out, v->message.data, v->message.size);
    assay_put_bytes(out, v->json.data, v->json.size);
    assay_put_bytes(out, v->text.data, v->text.size);
}

static bool same_bytes(const assay_buf *a, const assay_buf *b)
{
    return a->status == ASSAY_OK && b->status == ASSAY_OK && a->size == b->size &&
           (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static assay_buf packed(const world *w, const void *state)
{
    assay_buf buf;
    assay_buf_init(&buf, (size_t)1 << 28);
    if (w->rule.ops->pack(&w->rule, state, &buf) != ASSAY_OK && buf.status == ASSAY_OK)
        buf.status = ASSAY_EINTERNAL;
    return buf;
}

static assay_buf verdict_of(const world *w, const void *state)
{
    assay_buf buf;
    assay_verdict v;
    assay_buf_init(&buf, (size_t)1 << 28);
    int status = assay_verdict_init(&v, assay_rule_max_findings(&w->rule));
    if (status == ASSAY_OK)
        status = assay_verdict_reach(&w->rule, state, &v);
    if (status == ASSAY_OK)
        put_verdict(&v, &buf);
    else
        buf.status = status;
    assay_verdict_release(&v);
    return buf;
}

/* The state of steps [from, to) of the world; NULL when a step fails. */
static void *mapped(const world *w, uint64_t from, uint64_t to)
{
    void *state = w->rule.ops->state_new(&w->rule);
    for (uint64_t i = from; state && i < to; i++)
        if (w->rule.ops->map(&w->rule, state, &w->views[i], NULL) != ASSAY_OK) {
            w->rule.ops->state_free(state);
            return NULL;
        }
    return state;
}

/* Joins, and frees the later state at once: a pointer kept into it would be found. */
static bool joined(const world *w, void *earlier, void *later)
{
    bool ok = earlier && later && w->rule.ops->combine(&w->rule, earlier, later, NULL) == ASSAY_OK;
    if (later)
        w->rule.ops->state_free(later);
    return ok;
}

static bool packs_like(const world *w, void *state, const assay_buf *whole, const assay_buf *verdict)
{
    assay_buf mine = packed(w, state), said = verdict_of(w, state);
    bool same = same_bytes(&mine, whole) && same_bytes(&said, verdict);
    assay_buf_release(&mine);
    assay_buf_release(&said);
    w->rule.ops->state_free(state);
    return same;
}

/* Neutral element and every cut: the cuts at both ends join with a fresh state. */
static bool splits(const world *w, const assay_buf *whole, const assay_buf *verdict)
{
    for (uint64_t cut = 0; cut <= w->view_count; cut++) {
        void *a = mapped(w, 0, cut), *b = mapped(w, cut, w->view_count);
        if (!joined(w, a, b) || !packs_like(w, a, whole, verdict))
            return false;
    }
    return true;
}

static bool brackets(const world *w, const assay_buf *whole, const assay_buf *verdict)
{
    for (uint64_t i = 1; i < w->view_count; i += 2)
        for (uint64_t k = i; k < w->view_count; k += 3) {
            void *a = mapped(w, 0, i), *b = mapped(w, i, k), *c = mapped(w, k, w->view_count);
            if (!joined(w, b, c) || !joined(w, a, b) || !packs_like(w, a, whole, verdict))
                return false;
        }
    return true;
}

/* True when the bytes are taken for a state that packs to `whole` and says `said` (NULL: whatever it says). */
static bool unpacks(const world *w, const uint8_t *bytes, size_t size, const assay_buf *whole, const assay_buf *said)
{
    uint8_t *copy = malloc(size ? size : 1); /* so that reading past the end is found */
    void *state = NULL;
    if (size)
        memcpy(copy, bytes, size);
    assay_cursor in = assay_cursor_over(copy, size);
    int status = w->rule.ops->unpack(&w->rule, &in, &state, NULL);
    bool same = false;
    if (status == ASSAY_OK) {
        memset(copy, 0xA5, size);
        assay_buf again = packed(w, state),
                  verdict = verdict_of(w, state); /* a state from a bad checkpoint too has an end */
        same = same_bytes(&again, whole) && (!said || same_bytes(&verdict, said));
        assay_buf_release(&again);
        assay_buf_release(&verdict);
        w->rule.ops->state_free(state);
    }
    free(copy);
    return status == ASSAY_OK && same;
}

/* A damaged byte is refused or gives another state, but never a crash, a leak or a huge allocation (sanitizers look).
 */
static void survives_damage(const world *w, const assay_buf *whole)
{
    size_t stride = whole->size / DAMAGES + 1;
    uint8_t *copy = malloc(whole->size + 1);
    memcpy(copy, whole->data, whole->size);
    for (size_t i = 0; i < whole->size; i += stride) {
        copy[i] ^= 0xFF;
        unpacks(w, copy, whole->size, whole, NULL);
        copy[i] ^= 0xFF;
    }
    free(copy);
}

static bool round_trips(const world *w, const assay_buf *whole, const assay_buf *verdict)
{
    if (!unpacks(w, whole->data, whole->size, whole, verdict))
        return false;
    size_t stride = whole->size < ALL_CUTS_BELOW ? 1 : whole->size / ALL_CUTS_BELOW + 1;
    for (size_t size = 0; size < whole->size; size += size < 64 || size + 64 > whole->size ? 1 : stride)
        if (unpacks(w, whole->data, size, whole, NULL))
            return false;
    assay_buf longer;
    assay_buf_init(&longer, (size_t)1 << 28);
    assay_put_bytes(&longer, whole->data, whole->size);
    assay_put_u8(&longer, 0);
    bool accepted = unpacks(w, longer.data, longer.size, whole, NULL);
    assay_buf_release(&longer);
    survives_damage(w, whole);
    return !accepted;
}

/* In another process, that is told of everything in bytes, it comes to the same. */
static bool is_told(const world *w, const assay_buf *whole, const assay_buf *verdict)
{
    assay_verdict said;
    assay_buf state, words;
    assay_buf_init(&words, (size_t)1 << 28);
    bool same = told_all(w, &state, &said) && same_bytes(&state, whole);
    if (same)
        put_verdict(&said, &words);
    same = same && same_bytes(&words, verdict);
    assay_buf_release(&state);
    assay_buf_release(&words);
    assay_verdict_release(&said);
    return same;
}

typedef struct tally {
    uint64_t worlds, datapoints, findings, json;
} tally;

static void count_up(const world *w, const void *state, tally *t)
{
    assay_verdict v;
    t->worlds++;
    if (assay_verdict_init(&v, assay_rule_max_findings(&w->rule)) == ASSAY_OK &&
        assay_verdict_reach(&w->rule, state, &v) == ASSAY_OK) {
        t->datapoints += v.findings->datapoints;
        t->findings += v.findings->total;
        t->json += v.json.size;
    }
    assay_verdict_release(&v);
}

static void check_world(const world *w, tally *t)
{
    void *state = mapped(w, 0, w->view_count);
    CU_ASSERT_PTR_NOT_NULL_FATAL(state);
    assay_buf whole = packed(w, state), verdict = verdict_of(w, state), again = verdict_of(w, state);
    CU_ASSERT_EQUAL(whole.status, ASSAY_OK);
    CU_ASSERT_EQUAL(verdict.status, ASSAY_OK);
    bool ok[] = {same_bytes(&verdict, &again), splits(w, &whole, &verdict), brackets(w, &whole, &verdict),
                 round_trips(w, &whole, &verdict), is_told(w, &whole, &verdict)};
    static const char *const law[] = {"finalize twice", "neutral element and cuts", "bracketing", "round trip",
                                      "processes"};
    for (size_t i = 0; i < sizeof ok / sizeof *ok; i++)
        if (!ok[i]) {
            printf("\n%s breaks the law of %s\n", w->rule.ops->name, law[i]);
            CU_FAIL("a law is broken");
        }
    count_up(w, state, t);
    w->rule.ops->state_free(state);
    assay_buf_release(&whole);
    assay_buf_release(&verdict);
    assay_buf_release(&again);
}

static void check_instance(const assay_instance *instance, tally *t)
{
    static const size_t most[] = {1000, 5};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world w;
        bool made = world_make(&w, instance, seed);
        CU_ASSERT_TRUE(made);
        w.rule.max_findings = most[seed % 2];
        if (made)
            check_world(&w, t);
        world_release(&w);
    }
}

/* Worlds hold tensors; rules over a timeline have known answers (tests/mpi/profiler.py) and laws of their own
 * (unit.timeline). */
static bool looks_at_tensors(const assay_rule_ops *ops)
{
    return !(ops->traits & ASSAY_RULE_TIMELINE);
}

/* Fires only where every step of a tensor is bad, which no world of random numbers has. Its known answers are in
 * tests/rules/known_quiet.py. */
static bool fires_in_no_world(const assay_rule_ops *ops)
{
    return strcmp(ops->name, "SaturatedFromStart") == 0;
}

static void every_rule_keeps_the_laws(void)
{
    const assay_rule_ops *ops;
    size_t rules = 0;
    for (; (ops = assay_rule_at(rules)); rules++) {
        if (!looks_at_tensors(ops))
            continue;
        assay_instance *variant[MOST_VARIANTS];
        assay_error err = {{0}};
        tally t = {0};
        size_t count = variants_make(ops, variant, &err);
        if (count == 0)
            printf("\n%s: %s\n", ops->name, err.text);
        CU_ASSERT_TRUE(count > 0);
        for (size_t i = 0; i < count; i++) {
            check_instance(variant[i], &t);
            assay_instance_free(variant[i]);
        }
        /* Laws over empty states would hold for any rule. */
        const bool full = t.findings > 0 || t.json > 0 || (fires_in_no_world(ops) && t.datapoints > 0);
        if (!full)
            printf("\n%s: no finding in %llu worlds\n", ops->name, (unsigned long long)t.worlds);
        CU_ASSERT_TRUE(full);
    }
    CU_ASSERT_TRUE(rules >= 12);
}

/* Every allocation of a rule's life fails once; each failure is a clean one, and without failures all is well. */
static bool lives(const world *w)
{
    bool ok = false;
    void *a = mapped(w, 0, w->view_count / 2), *b = mapped(w, w->view_count / 2, w->view_count), *c = NULL;
    if (joined(w, a, b)) {
        assay_buf bytes = packed(w, a), said = verdict_of(w, a);
        assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
        ok = bytes.status == ASSAY_OK && said.status == ASSAY_OK &&
             w->rule.ops->unpack(&w->rule, &in, &c, NULL) == ASSAY_OK;
        if (c)
            w->rule.ops->state_free(c);
        assay_buf_release(&bytes);
        assay_buf_release(&said);
    }
    if (a)
        w->rule.ops->state_free(a);
    return ok;
}

static void every_rule_survives_failing_allocations(void)
{
    const assay_rule_ops *ops;
    for (size_t i = 0; (ops = assay_rule_at(i)); i++) {
        if (!looks_at_tensors(ops))
            continue;
        assay_instance *variant[MOST_VARIANTS];
        assay_error err;
        world w;
        size_t count = variants_make(ops, variant, &err), failures = 0;
        CU_ASSERT_TRUE_FATAL(count > 0);
        bool made = world_make(&w, variant[0], 1), ok = !made;
        for (int n = 1; !ok && n < 5000; n += 1 + n / 20) {
            char fault[32];
            snprintf(fault, sizeof fault, "alloc:%d", n);
            setenv("ASSAY_FAULT", fault, 1);
            assay_fault_arm(0);
            ok = lives(&w);
            failures += !ok;
        }
        unsetenv("ASSAY_FAULT");
        assay_fault_arm(0);
        CU_ASSERT_TRUE(ok);
        CU_ASSERT_TRUE(failures > 0);
        world_release(&w);
        for (size_t k = 0; k < count; k++)
            assay_instance_free(variant[k]);
    }
}

static cJSON *wrong_value(const assay_param_def *def, int k)
{
    bool ranged = def->least != 0 || def->most != 0,
         number = def->type == ASSAY_PARAM_INT || def->type == ASSAY_PARAM_REAL;
    switch (k) {
    case 0:
        return cJSON_CreateObject();
    case 1:
        return number && ranged ? cJSON_CreateNumber(def->least - 1) : NULL;
    case 2:
        return number && ranged && def->most < 1e15 ? cJSON_CreateNumber(def->most * 2 + 1) : NULL;
    case 3:
        return def->type == ASSAY_PARAM_REGEX ? cJSON_CreateString("(") : NULL;
    case 4:
        return number || def->type == ASSAY_PARAM_REALS || def->type == ASSAY_PARAM_CHOICE ||
                       def->type == ASSAY_PARAM_BOOL
                   ? cJSON_CreateString("neither")
                   : NULL;
    case 5:
        return number && def->flags & ASSAY_PARAM_ABOVE ? cJSON_CreateNumber(def->least) : NULL;
    default:
        return def->type == ASSAY_PARAM_INT ? cJSON_CreateNumber(1.5) : NULL;
    }
}

static void expect_refusal(const assay_rule_ops *ops, const char *name, cJSON *value)
{
    cJSON *parameters = cJSON_CreateObject();
    cJSON_AddItemToObject(parameters, name, value);
    assay_instance *instance = configure(ops, parameters);
    CU_ASSERT_PTR_NOT_NULL_FATAL(instance);
    bool named = strstr(instance->error.text, ops->name) && strstr(instance->error.text, name);
    if (instance->status != ASSAY_EPARAM || !named)
        printf("\n%s, %s: status %d, \"%s\"\n", ops->name, name, instance->status, instance->error.text);
    CU_ASSERT_EQUAL(instance->status, ASSAY_EPARAM);
    CU_ASSERT_TRUE(named);
    CU_ASSERT_PTR_NULL(instance->need);
    assay_instance_free(instance);
    cJSON_Delete(parameters);
}

static void every_rule_refuses_bad_parameters(void)
{
    const assay_rule_ops *ops;
    const assay_param_def *def;
    for (size_t i = 0; (ops = assay_rule_at(i)); i++) {
        expect_refusal(ops, "no_such_parameter", cJSON_CreateNumber(1));
        for (size_t p = 0; (def = assay_params_def(ops, p)); p++)
            for (int k = 0; k < 7; k++) {
                cJSON *value = wrong_value(def, k);
                if (value)
                    expect_refusal(ops, def->name, value);
            }
    }
}

static void every_rule_has_its_page(void)
{
    const assay_rule_ops *ops;
    const assay_param_def *def;
    for (size_t i = 0; (ops = assay_rule_at(i)); i++) {
        char path[512], mention[128];
        const char *kind = ops->traits & ASSAY_RULE_AGGREGATION ? "aggregation-" : "";
        snprintf(path, sizeof path, "%s/%s%s.md", ASSAY_RULE_PAGES, kind, ops->name);
        assay_buf page;
        assay_buf_init(&page, 1 << 20);
        int status = assay_file_read(path, 1 << 20, &page, NULL);
        assay_put_u8(&page, 0);
        if (status)
            printf("\nno page %s\n", path);
        CU_ASSERT_EQUAL(status, ASSAY_OK);
        for (size_t p = 0; status == ASSAY_OK && (def = assay_params_def(ops, p)); p++) {
            snprintf(mention, sizeof mention, "`%s`", def->name);
            bool there = strstr((const char *)page.data, mention) && strstr((const char *)page.data, def->help);
            if (!there)
                printf("\n%s does not have %s with its meaning: %s\n", path, mention, def->help);
            CU_ASSERT_TRUE(there);
        }
        assay_buf_release(&page);
    }
}

/* Is the placeholder at `text` one that the report knows? */
static bool is_known(const char *text)
{
    static const char *const known[] = {"{tensor}", "{worker}", "{value}", "{note}",
                                        "{said}",   "{of}",     "{when}",  "{percent}"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(text, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

/* A rule that has sentences has one for each test, with placeholders that the report knows. */
static void every_sentence_can_be_said(void)
{
    const assay_rule_ops *ops;
    size_t with = 0;
    for (size_t i = 0; (ops = assay_rule_at(i)); i++) {
        size_t tests = 0, sentences = 0;
        while (ops->tests && ops->tests[tests])
            tests++;
        for (; ops->sentences && ops->sentences[sentences]; sentences++) {
            const char *text = ops->sentences[sentences];
            for (const char *at = strchr(text, '{'); at; at = strchr(at + 1, '{'))
                CU_ASSERT(is_known(at));
            CU_ASSERT(text[0] && text[strlen(text) - 1] != '.');
        }
        CU_ASSERT(!ops->sentences || sentences == (tests ? tests : 1));
        with += ops->sentences != NULL;
    }
    CU_ASSERT(with > 40);
}

int main(void)
{
    mallopt(M_PERTURB, 0xA5); /* freed memory is overwritten: what was kept into it shows */
    assay_error err;
    if (assay_rule_register_builtin(&err) != ASSAY_OK || assay_rule_register_builtin(&err) != ASSAY_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    CU_TestInfo tests[] = {{"every rule keeps the laws", every_rule_keeps_the_laws},
                           {"a NaN counts in no rule that is not about it", not_finite_counts_nowhere},
                           {"every rule survives failing allocations", every_rule_survives_failing_allocations},
                           {"every rule refuses bad parameters", every_rule_refuses_bad_parameters},
                           {"every rule has its page", every_rule_has_its_page},
                           {"every sentence can be said", every_sentence_can_be_said},
                           CU_TEST_INFO_NULL};
    return unit_main("laws", tests);
}
