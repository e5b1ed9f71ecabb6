/* process_pack.c - see process_pack.h. */
#include "rule/process_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json.h"
#include "rule/params.h"

/* ---- texts ---- */

static void put_text(assay_buf *out, const char *text)
{
    assay_put_u8(out, text != NULL);
    if (text)
        assay_put_text(out, text);
}

/* A text or NULL, as it was put. */
static int get_text(assay_cursor *in, char **out)
{
    size_t length = 0;
    *out = NULL;
    if (assay_get_u8(in) == 0)
        return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    const char *text = assay_get_text(in, &length);
    if (in->failed)
        return ASSAY_EFORMAT;
    *out = assay_copy_bytes_as_text(text, length);
    return *out ? ASSAY_OK : ASSAY_ENOMEM;
}

static void put_list(assay_buf *out, const char *const *list)
{
    uint32_t count = 0;
    while (list && list[count])
        count++;
    assay_put_u8(out, list != NULL);
    assay_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        assay_put_text(out, list[i]);
}

/* A list that ends with NULL, or NULL. */
static int get_list(assay_cursor *in, const char *const **out)
{
    bool some = assay_get_u8(in) != 0;
    size_t count = assay_get_u32(in), length = 0;
    *out = NULL;
    if (in->failed || count > assay_cursor_left(in) / 4)
        return ASSAY_EFORMAT;
    if (!some)
        return ASSAY_OK;
    char **list = assay_alloc_zeroed(count + 1, sizeof *list);
    *out = (const char *const *)list;
    for (size_t i = 0; list && i < count; i++) {
        const char *text = assay_get_text(in, &length);
        if (in->failed)
            return ASSAY_EFORMAT;
        ASSAY_HAVE(list[i] = assay_copy_bytes_as_text(text, length));
    }
    return list ? ASSAY_OK : ASSAY_ENOMEM;
}

/* ---- the rules of a module ---- */

static unsigned functions_of(const assay_rule_ops *ops)
{
    const struct {
        bool there;
        unsigned bit;
    } functions[] = {
        {ops->setup, ASSAY_HAS_SETUP},   {ops->state_new, ASSAY_HAS_STATE_NEW}, {ops->state_free, ASSAY_HAS_STATE_FREE},
        {ops->map, ASSAY_HAS_MAP},       {ops->combine, ASSAY_HAS_COMBINE},     {ops->pack, ASSAY_HAS_PACK},
        {ops->unpack, ASSAY_HAS_UNPACK}, {ops->finalize, ASSAY_HAS_FINALIZE},   {ops->reason, ASSAY_HAS_REASON}};
    unsigned has = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        has |= functions[i].there ? functions[i].bit : 0;
    return has;
}

static void put_definition(assay_buf *out, const assay_param_def *def)
{
    assay_put_text(out, def->name);
    assay_put_u32(out, def->type);
    put_text(out, def->initial);
    assay_put_f64(out, def->least);
    assay_put_f64(out, def->most);
    assay_put_u32(out, def->flags);
    put_text(out, def->choices);
    put_text(out, def->help);
}

void assay_rule_table_pack(const assay_rule_ops *const *table, assay_buf *out)
{
    uint32_t count = 0;
    while (count <= ASSAY_MODULE_RULES && table[count])
        count++;
    assay_put_u32(out, count);
    for (uint32_t i = 0; i < count && i < ASSAY_MODULE_RULES; i++) {
        const assay_rule_ops *ops = table[i];
        assay_put_u32(out, ops->abi);
        assay_put_u32(out, ops->size);
        if (ops->abi != ASSAY_RULE_ABI || ops->size != sizeof *ops)
            continue;
        uint32_t params = 0;
        while (ops->params && ops->params[params].name)
            params++;
        put_text(out, ops->name);
        put_text(out, ops->summary);
        put_text(out, ops->advice);
        put_list(out, ops->tests);
        put_list(out, ops->remedies);
        put_list(out, ops->value_units);
        put_list(out, ops->sentences);
        assay_put_u32(out, ops->traits);
        assay_put_u32(out, ops->series_width);
        assay_put_u32(out, functions_of(ops));
        assay_put_u32(out, params);
        for (uint32_t k = 0; k < params; k++)
            put_definition(out, &ops->params[k]);
    }
}

static int get_definitions(assay_cursor *in, const assay_param_def **out)
{
    size_t count = assay_get_u32(in), length = 0;
    if (in->failed || count > assay_cursor_left(in) / 8)
        return ASSAY_EFORMAT;
    assay_param_def *list = assay_alloc_zeroed(count + 1, sizeof *list);
    *out = list;
    int status = list ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < count; i++) {
        const char *name = assay_get_text(in, &length);
        char *initial = NULL, *choices = NULL, *help = NULL;
        list[i].type = (assay_param_type)assay_get_u32(in);
        if (in->failed || (unsigned)list[i].type > ASSAY_PARAM_CHOICE)
            return ASSAY_EFORMAT;
        ASSAY_HAVE(list[i].name = assay_copy_bytes_as_text(name, length));
        status = get_text(in, &initial);
        list[i].initial = initial;
        list[i].least = assay_get_f64(in);
        list[i].most = assay_get_f64(in);
        list[i].flags = assay_get_u32(in);
        ASSAY_THEN(status, get_text(in, &choices));
        ASSAY_THEN(status, get_text(in, &help));
        list[i].choices = choices;
        list[i].help = help;
    }
    return status;
}

int assay_rule_table_next(assay_cursor *in, assay_rule_ops *out, unsigned *has)
{
    char *name = NULL, *summary = NULL, *advice = NULL;
    *has = 0;
    *out = (assay_rule_ops){.abi = assay_get_u32(in), .size = assay_get_u32(in)};
    if (in->failed)
        return ASSAY_EFORMAT;
    if (out->abi != ASSAY_RULE_ABI || out->size != sizeof *out)
        return ASSAY_OK;
    int status = get_text(in, &name);
    ASSAY_THEN(status, get_text(in, &summary));
    ASSAY_THEN(status, get_text(in, &advice));
    ASSAY_THEN(status, get_list(in, &out->tests));
    ASSAY_THEN(status, get_list(in, &out->remedies));
    ASSAY_THEN(status, get_list(in, &out->value_units));
    ASSAY_THEN(status, get_list(in, &out->sentences));
    out->name = name;
    out->summary = summary;
    out->advice = advice;
    /* What only its state has stays in its process. */
    out->traits = assay_get_u32(in) & ~(uint32_t)(ASSAY_RULE_KEEPS_STATE | ASSAY_RULE_COUNTS);
    out->series_width = assay_get_u32(in);
    *has = assay_get_u32(in);
    return status == ASSAY_OK ? get_definitions(in, &out->params) : status;
}

static void free_text(const char *text)
{
    free((void *)(uintptr_t)text);
}

static void free_list(const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        free_text(list[i]);
    free((void *)(uintptr_t)list);
}

void assay_rule_table_free(assay_rule_ops *ops)
{
    free_text(ops->name);
    free_text(ops->summary);
    free_text(ops->advice);
    free_list(ops->tests);
    free_list(ops->remedies);
    free_list(ops->value_units);
    free_list(ops->sentences);
    for (size_t i = 0; ops->params && ops->params[i].name; i++) {
        free_text(ops->params[i].name);
        free_text(ops->params[i].initial);
        free_text(ops->params[i].choices);
        free_text(ops->params[i].help);
    }
    free((void *)(uintptr_t)ops->params);
}

/* ---- parameters ---- */

void assay_params_pack(const assay_params *params, assay_buf *out)
{
    assay_put_u64(out, params->count);
    for (size_t i = 0; i < params->count; i++) {
        const assay_param_value *value = &params->value[i];
        assay_put_u8(out, value->has);
        assay_put_u8(out, value->given);
        assay_put_u8(out, value->truth);
        assay_put_i64(out, value->integer);
        assay_put_f64(out, value->real);
        size_t items = value->item ? value->count : 0, numbers = value->number ? value->count : 0;
        assay_put_u64(out, value->count);
        assay_put_u64(out, items);
        for (size_t k = 0; k < items; k++)
            assay_put_text(out, value->item[k]);
        assay_put_u64(out, numbers);
        for (size_t k = 0; k < numbers; k++)
            assay_put_f64(out, value->number[k]);
    }
}

static int get_value(assay_cursor *in, assay_param_value *value)
{
    size_t length = 0;
    value->has = assay_get_u8(in) != 0;
    value->given = assay_get_u8(in) != 0;
    value->truth = assay_get_u8(in) != 0;
    value->integer = assay_get_i64(in);
    value->real = assay_get_f64(in);
    uint64_t count = assay_get_u64(in), items = assay_get_count(in, 4);
    if (in->failed)
        return ASSAY_EFORMAT;
    value->item = items ? assay_alloc_zeroed(items, sizeof *value->item) : NULL;
    if (items && !value->item)
        return ASSAY_ENOMEM;
    for (uint64_t k = 0; k < items; k++) {
        const char *text = assay_get_text(in, &length);
        ASSAY_HAVE(value->item[k] = assay_copy_bytes_as_text(text, length));
        value->count = k + 1;
    }
    uint64_t numbers = assay_get_count(in, 8);
    value->number = numbers ? assay_alloc(numbers * sizeof *value->number) : NULL;
    if (numbers && !value->number)
        return ASSAY_ENOMEM;
    for (uint64_t k = 0; k < numbers; k++)
        value->number[k] = assay_get_f64(in);
    value->count = count;
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

int assay_params_unpack(assay_cursor *in, const assay_rule_ops *ops, assay_params **out)
{
    assay_params *params = assay_alloc_zeroed(1, sizeof *params);
    ASSAY_HAVE(params);
    params->ops = ops;
    while (assay_params_def(ops, params->count))
        params->count++;
    params->value = assay_alloc_zeroed(params->count, sizeof *params->value);
    int status = !params->value ? ASSAY_ENOMEM : assay_get_u64(in) != params->count ? ASSAY_EFORMAT : ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < params->count; i++)
        status = get_value(in, &params->value[i]);
    if (status != ASSAY_OK)
        assay_params_free(params);
    else
        *out = params;
    return status;
}

/* ---- needs ---- */

static void put_slot(assay_buf *out, const assay_slot_need *slot)
{
    assay_put_u64(out, slot->collections);
    for (size_t k = 0; k < slot->collections; k++)
        assay_put_text(out, slot->collection[k]);
    assay_put_u64(out, slot->regexes);
    for (size_t k = 0; k < slot->regexes; k++)
        assay_put_text(out, slot->pattern[k]);
    put_text(out, slot->name);
    assay_put_u32(out, slot->kinds);
    assay_put_u32(out, slot->modes);
    assay_put_u32(out, slot->flags);
    assay_put_i64(out, slot->first_steps);
    assay_put_u8(out, slot->keeps_rows);
    assay_put_u32(out, slot->rows.width);
    assay_put_u8(out, slot->rows.pooled);
    assay_put_u8(out, slot->rows.compared);
    assay_put_u64(out, slot->rows.most);
}

void assay_need_pack(const assay_need *need, assay_buf *out)
{
    assay_put_u32(out, need->slot_count);
    for (uint32_t i = 0; i < need->slot_count; i++)
        put_slot(out, &need->slots[i]);
    assay_put_u32(out, need->measure_count);
    for (uint32_t i = 0; i < need->measure_count; i++) {
        assay_put_u32(out, need->measure_slot[i]);
        assay_put_bytes(out, &need->measures[i], sizeof *need->measures); /* padding too: measures are compared by it */
    }
    put_text(out, need->other_trial);
}

static int get_copies(assay_cursor *in, char ***list, size_t *count)
{
    uint64_t many = assay_get_count(in, 4);
    size_t length = 0;
    *list = in->failed ? NULL : assay_alloc_zeroed(many + 1, sizeof **list);
    if (!*list)
        return in->failed ? ASSAY_EFORMAT : ASSAY_ENOMEM;
    for (uint64_t k = 0; k < many; k++) {
        const char *text = assay_get_text(in, &length);
        if (in->failed)
            return ASSAY_EFORMAT;
        ASSAY_HAVE(((*list)[k] = assay_copy_bytes_as_text(text, length)));
        ++*count;
    }
    return ASSAY_OK;
}

static int get_patterns(assay_cursor *in, assay_slot_need *slot, assay_error *err)
{
    size_t patterns = 0;
    int status = get_copies(in, &slot->pattern, &patterns);
    slot->regex = status == ASSAY_OK ? assay_alloc_zeroed(patterns + 1, sizeof *slot->regex) : NULL;
    if (status == ASSAY_OK && !slot->regex)
        status = ASSAY_ENOMEM;
    for (size_t k = 0; status == ASSAY_OK && k < patterns; k++)
        status = assay_regex_new(slot->pattern[k], &slot->regex[k], err);
    slot->regexes = slot->regex ? patterns : 0;
    for (size_t k = 0; !slot->regex && k < patterns; k++)
        free(slot->pattern[k]);
    return status;
}

static int get_slot(assay_cursor *in, assay_slot_need *slot, assay_error *err)
{
    int status = get_copies(in, &slot->collection, &slot->collections);
    ASSAY_THEN(status, get_patterns(in, slot, err));
    ASSAY_THEN(status, get_text(in, &slot->name));
    slot->kinds = assay_get_u32(in);
    slot->modes = assay_get_u32(in);
    slot->flags = assay_get_u32(in);
    slot->first_steps = assay_get_i64(in);
    slot->keeps_rows = assay_get_u8(in) != 0;
    slot->rows.width = assay_get_u32(in);
    slot->rows.pooled = assay_get_u8(in) != 0;
    slot->rows.compared = assay_get_u8(in) != 0;
    slot->rows.most = assay_get_u64(in);
    return status == ASSAY_OK && (in->failed || !slot->kinds) ? ASSAY_EFORMAT : status;
}

static int get_slots(assay_cursor *in, assay_need *need, assay_error *err)
{
    uint32_t slots = assay_get_u32(in);
    if (slots > assay_cursor_left(in) / 8)
        return ASSAY_EFORMAT;
    need->slots = assay_alloc_zeroed(slots + (size_t)1, sizeof *need->slots);
    int status = need->slots ? ASSAY_OK : ASSAY_ENOMEM;
    while (status == ASSAY_OK && need->slot_count < slots)
        status = get_slot(in, &need->slots[need->slot_count++], err);
    return status;
}

static int get_measures(assay_cursor *in, assay_need *need)
{
    uint32_t measures = assay_get_u32(in);
    if (measures > assay_cursor_left(in) / sizeof *need->measures)
        return ASSAY_EFORMAT;
    need->measures = assay_alloc_zeroed(measures + (size_t)1, sizeof *need->measures);
    need->measure_slot = assay_alloc_zeroed(measures + (size_t)1, sizeof *need->measure_slot);
    ASSAY_HAVE(need->measures && need->measure_slot);
    for (uint32_t i = 0; i < measures; i++) {
        need->measure_slot[i] = assay_get_u32(in);
        const uint8_t *bytes = assay_get_bytes(in, sizeof *need->measures);
        if (in->failed || need->measure_slot[i] >= need->slot_count)
            return ASSAY_EFORMAT;
        memcpy(&need->measures[i], bytes, sizeof *need->measures);
        if (need->measures[i].kind >= ASSAY_MEASURE_KINDS || need->measures[i].numbers > ASSAY_MEASURE_NUMBERS)
            return ASSAY_EFORMAT;
        need->measure_count++;
    }
    return ASSAY_OK;
}

int assay_need_unpack(assay_cursor *in, assay_need *need, assay_error *err)
{
    int status = get_slots(in, need, err);
    ASSAY_THEN(status, get_measures(in, need));
    ASSAY_THEN(status, get_text(in, &need->other_trial));
    return status == ASSAY_OK && assay_cursor_bad(in) ? ASSAY_EFORMAT : status;
}

/* ---- verdicts ---- */

static void put_bytes(assay_buf *out, const assay_buf *bytes)
{
    assay_put_u64(out, bytes->size);
    assay_put_bytes(out, bytes->data, bytes->size);
}

static void get_bytes(assay_cursor *in, assay_buf *out)
{
    uint64_t size = assay_get_count(in, 1);
    const uint8_t *bytes = assay_get_bytes(in, size);
    if (!in->failed)
        assay_put_bytes(out, bytes, size);
}

void assay_verdict_pack(const assay_verdict *verdict, assay_buf *out)
{
    put_bytes(out, &verdict->message);
    put_bytes(out, &verdict->json);
    put_bytes(out, &verdict->text);
    assay_findings_pack(verdict->findings, out);
}

/* Members without the braces. */
static int check_members(const assay_rule *rule, const assay_buf *members, assay_error *err)
{
    assay_buf whole;
    if (members->size == 0)
        return ASSAY_OK;
    assay_buf_init(&whole, members->ceiling + 2);
    assay_put_u8(&whole, '{');
    assay_put_bytes(&whole, members->data, members->size);
    assay_put_u8(&whole, '}');
    int status = assay_buf_status(&whole);
    assay_error why = {""};
    if (status == ASSAY_OK && assay_json_check("its members for report.json", whole.data, whole.size, &why) != ASSAY_OK)
        status = assay_fail(err, ASSAY_EFORMAT, "%s: %.300s", rule->ops->name, why.text);
    assay_buf_release(&whole);
    return status;
}

int assay_verdict_unpack(assay_cursor *in, const assay_rule *rule, assay_verdict *verdict, assay_error *err)
{
    assay_findings *found = NULL;
    uint32_t tests = 0;
    while (rule->ops->tests && rule->ops->tests[tests])
        tests++;
    get_bytes(in, &verdict->message);
    get_bytes(in, &verdict->json);
    get_bytes(in, &verdict->text);
    int status = assay_findings_unpack(in, assay_rule_max_findings(rule), rule->trial, &found, err);
    ASSAY_TRY(status);
    for (size_t i = 0; status == ASSAY_OK && i < found->kept; i++)
        if (found->list[i].test > 0 && found->list[i].test >= tests)
            status = assay_fail(err, ASSAY_EFORMAT, "%s: a finding of its test %u, and it has %u", rule->ops->name,
                                found->list[i].test, tests);
    ASSAY_THEN(status, check_members(rule, &verdict->json, err));
    ASSAY_THEN(status, assay_findings_append(verdict->findings, found));
    assay_findings_free(found);
    return status;
}
