/* process_pack.c - see process_pack.h. Each end reads what the other one wrote, and trusts none of it. */
#include "rule/process_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/fields.h"
#include "base/json.h"
#include "rule/params.h"

/* ---- lists of texts ---- */

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
    /* Four bytes at least for each text: bounds the allocation below. */
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

static const assay_field definition_fields[] = {ASSAY_FIELD(assay_param_def, name),
                                                ASSAY_FIELD_MOST(assay_param_def, type, ASSAY_PARAM_CHOICE),
                                                ASSAY_FIELD(assay_param_def, initial),
                                                ASSAY_FIELD(assay_param_def, least),
                                                ASSAY_FIELD(assay_param_def, most),
                                                ASSAY_FIELD(assay_param_def, flags),
                                                ASSAY_FIELD(assay_param_def, choices),
                                                ASSAY_FIELD(assay_param_def, help),
                                                {0}};

static const assay_field rule_fields[] = {
    ASSAY_FIELD(assay_rule_ops, name),   ASSAY_FIELD(assay_rule_ops, summary),      ASSAY_FIELD(assay_rule_ops, advice),
    ASSAY_FIELD(assay_rule_ops, traits), ASSAY_FIELD(assay_rule_ops, series_width), {0}};

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
        /* A rule of another version: its members cannot be read, and abi and size say why. */
        if (ops->abi != ASSAY_RULE_ABI || ops->size != sizeof *ops)
            continue;
        size_t params = 0; /* with the one that ends the list */
        while (ops->params && ops->params[params++].name)
            continue;
        assay_fields_pack(rule_fields, ops, out);
        put_list(out, ops->tests);
        put_list(out, ops->remedies);
        put_list(out, ops->value_units);
        put_list(out, ops->sentences);
        assay_put_u32(out, functions_of(ops));
        assay_fields_pack_rows(definition_fields, ops->params, params, sizeof *ops->params, out);
    }
}

static void free_definitions(assay_param_def *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assay_fields_release(definition_fields, &list[i]);
    free(list);
}

/* Names all, and a last one that has none; or no definition at all. */
static int get_definitions(assay_cursor *in, const assay_param_def **out)
{
    void *rows = NULL;
    size_t count = 0, named = 0;
    ASSAY_TRY(assay_fields_unpack_rows(definition_fields, in, sizeof **out, &rows, &count));
    assay_param_def *list = rows;
    while (named < count && list[named].name)
        named++;
    if (count > 0 && named + 1 != count) {
        free_definitions(list, count);
        return ASSAY_EFORMAT;
    }
    *out = list;
    return ASSAY_OK;
}

int assay_rule_table_next(assay_cursor *in, assay_rule_ops *out, unsigned *has)
{
    *has = 0;
    *out = (assay_rule_ops){.abi = assay_get_u32(in), .size = assay_get_u32(in)};
    if (in->failed)
        return ASSAY_EFORMAT;
    if (out->abi != ASSAY_RULE_ABI || out->size != sizeof *out)
        return ASSAY_OK;
    int status = assay_fields_unpack(rule_fields, in, out);
    ASSAY_THEN(status, get_list(in, &out->tests));
    ASSAY_THEN(status, get_list(in, &out->remedies));
    ASSAY_THEN(status, get_list(in, &out->value_units));
    ASSAY_THEN(status, get_list(in, &out->sentences));
    /* What only the rule's state has stays in its process: assay cannot look into it. */
    out->traits &= ~(uint32_t)(ASSAY_RULE_KEEPS_STATE | ASSAY_RULE_COUNTS);
    *has = assay_get_u32(in);
    return status == ASSAY_OK ? get_definitions(in, &out->params) : status;
}

static void free_list(const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        free((void *)(uintptr_t)list[i]);
    free((void *)(uintptr_t)list);
}

void assay_rule_table_free(assay_rule_ops *ops)
{
    size_t params = 0; /* with the one that ends the list, which may have texts as well */
    while (ops->params && ops->params[params++].name)
        continue;
    assay_fields_release(rule_fields, ops);
    free_list(ops->tests);
    free_list(ops->remedies);
    free_list(ops->value_units);
    free_list(ops->sentences);
    free_definitions((assay_param_def *)(uintptr_t)ops->params, params);
}

/* ---- parameters ---- */

static const assay_field value_fields[] = {
    ASSAY_FIELD(assay_param_value, has),   ASSAY_FIELD(assay_param_value, given),
    ASSAY_FIELD(assay_param_value, truth), ASSAY_FIELD(assay_param_value, integer),
    ASSAY_FIELD(assay_param_value, real),  {0}};

void assay_params_pack(const assay_params *params, assay_buf *out)
{
    assay_put_u64(out, params->count);
    for (size_t i = 0; i < params->count; i++) {
        const assay_param_value *value = &params->value[i];
        assay_fields_pack(value_fields, value, out);
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

/* A value has items, or numbers, or neither, and counts what it has. */
static int get_value(assay_cursor *in, assay_param_value *value)
{
    size_t length = 0;
    ASSAY_TRY(assay_fields_unpack(value_fields, in, value));
    uint64_t count = assay_get_u64(in), items = assay_get_count(in, 4);
    if (in->failed)
        return ASSAY_EFORMAT;
    value->item = items ? assay_alloc_zeroed(items, sizeof *value->item) : NULL;
    if (items && !value->item)
        return ASSAY_ENOMEM;
    for (uint64_t k = 0; k < items; k++) {
        const char *text = assay_get_text(in, &length);
        if (in->failed)
            return ASSAY_EFORMAT;
        ASSAY_HAVE(value->item[k] = assay_copy_bytes_as_text(text, length));
        value->count = k + 1;
    }
    uint64_t numbers = assay_get_count(in, 8);
    value->number = numbers ? assay_alloc(numbers * sizeof *value->number) : NULL;
    if (numbers && !value->number)
        return ASSAY_ENOMEM;
    for (uint64_t k = 0; k < numbers; k++)
        value->number[k] = assay_get_f64(in);
    if (in->failed || (items && numbers) || count != items + numbers)
        return ASSAY_EFORMAT; /* the items are counted already: nobody frees more than there are */
    value->count = count;
    return ASSAY_OK;
}

/* The number of parameters is that of the definitions on this side. */
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

static const assay_field slot_fields[] = {
    ASSAY_FIELD(assay_slot_need, name),          ASSAY_FIELD(assay_slot_need, kinds),
    ASSAY_FIELD(assay_slot_need, modes),         ASSAY_FIELD(assay_slot_need, flags),
    ASSAY_FIELD(assay_slot_need, first_steps),   ASSAY_FIELD(assay_slot_need, keeps_rows),
    ASSAY_FIELD(assay_slot_need, rows.width),    ASSAY_FIELD(assay_slot_need, rows.pooled),
    ASSAY_FIELD(assay_slot_need, rows.compared), ASSAY_FIELD(assay_slot_need, rows.onsets),
    ASSAY_FIELD(assay_slot_need, rows.most),     {0}};
static const assay_field other_fields[] = {ASSAY_FIELD(assay_need, other_trial), {0}};

static void put_slot(assay_buf *out, const assay_slot_need *slot)
{
    assay_put_u64(out, slot->collections);
    for (size_t k = 0; k < slot->collections; k++)
        assay_put_text(out, slot->collection[k]);
    assay_put_u64(out, slot->regexes);
    for (size_t k = 0; k < slot->regexes; k++)
        assay_put_text(out, slot->pattern[k]);
    assay_fields_pack(slot_fields, slot, out);
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
    assay_fields_pack(other_fields, need, out);
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

/* Patterns are compiled anew: a regex cannot go through a pipe. */
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
    ASSAY_THEN(status, assay_fields_unpack(slot_fields, in, slot));
    /* A slot without kinds would take nothing, and no setup declares one. */
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
    ASSAY_THEN(status, assay_fields_unpack(other_fields, in, need));
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

/* Checks what a rule wants to add to report.json: members without the braces. Anything else would make the whole
 * report unreadable. */
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

/* Untrusted: the rule may say anything, but not break the report or point beyond its own tables. */
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
