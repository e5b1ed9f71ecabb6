/* loading_call.c - what the names in a pickle are, and what its calls do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "verify/loading_machine.h"

enum { NAME_MOST = 4096, NESTED_MOST = 4 };

/* Functions that do what their arguments say. They are judged where they are called; who hands one on leaves it to others
 * to call. `calls`: the number of the argument that they call, -1: none. */
static const struct special {
    const char *module, *name;
    enum { GETATTR, GETITEM, TYPE, LOAD, UFUNC, CALLER } what;
    int calls;
} specials[] = {
    {"builtins", "getattr", GETATTR, -1},
    {"__builtin__", "getattr", GETATTR, -1},
    {"operator", "getitem", GETITEM, -1},
    {"_operator", "getitem", GETITEM, -1},
    {"builtins", "type", TYPE, -1},
    {"__builtin__", "type", TYPE, -1},
    {"torch.storage", "_load_from_bytes", LOAD, -1},
    {"numpy.core", "_ufunc_reconstruct", UFUNC, -1},
    {"numpy._core", "_ufunc_reconstruct", UFUNC, -1},
    {"torch._tensor", "_rebuild_from_type", CALLER, 0},
    {"torch._tensor", "_rebuild_from_type_v2", CALLER, 0},
    {"numpy.random._pickle", "__randomstate_ctor", CALLER, 1},
    {"numpy.random._pickle", "__generator_ctor", CALLER, 1},
};

void loading_note(loading_machine *m, assay_loading_grade grade, const char *name, bool called)
{
    assay_loading *out = m->out;
    out->grade = grade > out->grade ? grade : out->grade;
    if (grade == ASSAY_LOADING_DATA)
        return;
    for (size_t i = 0; i < out->kept; i++)
        if (strncmp(out->list[i].name, name, ASSAY_LOADING_NAME - 1) == 0) {
            if (called && !out->list[i].called) {
                out->list[i].called = true;
                out->list[i].opcode = m->opcode;
                out->list[i].offset = m->base + m->from;
            }
            out->list[i].grade = grade > out->list[i].grade ? grade : out->list[i].grade;
            return;
        }
    size_t place = out->kept;
    if (place == ASSAY_LOADING_NAMES) { /* what runs code takes the place of what does not */
        for (place = 0; place < out->kept && out->list[place].grade >= grade; place++)
            ;
        if (place == out->kept)
            return;
    } else {
        out->kept++;
    }
    assay_loading_name *n = &out->list[place];
    *n = (assay_loading_name){.grade = grade, .called = called, .opcode = m->opcode, .offset = m->base + m->from};
    snprintf(n->name, sizeof n->name, "%s", name);
}

/* ---- names ---- */

/* A module's file may be called anything; what does not say that it is a pickle may be a text, where a name is one. */
static bool is_name_byte(const loading_machine *m, uint8_t b)
{
    if (m->sure)
        return b >= ' ' && b != 0x7f;
    return b >= 0x80 || b == '_' || b == '.' || b == '<' || b == '>' || (b >= '0' && b <= '9') ||
           (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z');
}

static bool is_name(const loading_machine *m, uint64_t at, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (!is_name_byte(m, m->bytes[at + i]))
            return false;
    return size > 0;
}

static const char *module_of(const loading_machine *m, const loading_item *of)
{
    return assay_dict_name(m->names, of->at, NULL);
}

static const char *own_name_of(const loading_machine *m, const loading_item *of)
{
    const char *module = module_of(m, of);
    return module + strlen(module) + 1;
}

/* The item of a name with its module; OTHER without memory. */
static loading_item keep_name(loading_machine *m, loading_kind kind, const char *module, const char *name)
{
    char both[2 * NAME_MOST + 2];
    const int length = snprintf(both, sizeof both, "%s%c%s", module, '\0', name);
    const uint32_t id = assay_dict_add(m->names, both, (size_t)length);
    if (id != ASSAY_NO_ID)
        return (loading_item){.kind = (uint8_t)kind, .at = id};
    m->status = ASSAY_ENOMEM;
    return (loading_item){.kind = LOADING_OTHER};
}

static const struct special *special_of(const loading_machine *m, const loading_item *of)
{
    for (size_t i = 0; of->kind == LOADING_NAME && i < sizeof specials / sizeof *specials; i++)
        if (strcmp(module_of(m, of), specials[i].module) == 0 && strcmp(own_name_of(m, of), specials[i].name) == 0)
            return &specials[i];
    return NULL;
}

static void note_name(loading_machine *m, assay_loading_grade grade, const char *module, const char *name, bool called)
{
    char both[ASSAY_LOADING_NAME];
    snprintf(both, sizeof both, "%.120s.%.70s", module, name);
    m->found = m->found || grade == ASSAY_LOADING_CODE;
    loading_note(m, grade, both, called);
}

static void judge_name(loading_machine *m, const loading_item *of, bool called)
{
    const char *module = module_of(m, of), *name = own_name_of(m, of);
    note_name(m, assay_loading_grade_of(module, name, called), module, name, called);
}

loading_value loading_name_of(loading_machine *m, uint64_t at, uint64_t size, uint64_t next, uint64_t more)
{
    char module[NAME_MOST], name[NAME_MOST];
    if (!is_name(m, at, size) || !is_name(m, next, more)) {
        m->broken = true; /* no import finds it */
        return (loading_value){.self.kind = LOADING_OTHER};
    }
    if (size >= NAME_MOST || more >= NAME_MOST) {
        loading_note(m, ASSAY_LOADING_CODE, "a name that is longer than any", false);
        return (loading_value){.self.kind = LOADING_RESULT};
    }
    snprintf(module, sizeof module, "%.*s", (int)size, (const char *)m->bytes + at);
    snprintf(name, sizeof name, "%.*s", (int)more, (const char *)m->bytes + next);
    const loading_value v = {.self = keep_name(m, LOADING_NAME, module, name)};
    if (v.self.kind == LOADING_NAME && !special_of(m, &v.self))
        judge_name(m, &v.self, false);
    return v;
}

void loading_hand_on(loading_machine *m, const loading_item *item)
{
    const struct special *special = special_of(m, item);
    char text[ASSAY_LOADING_NAME];
    if (!special || special->what == TYPE)
        return;
    snprintf(text, sizeof text, "%s.%s, which is handed on", special->module, special->name);
    loading_note(m, ASSAY_LOADING_CODE, special->what == GETATTR ? "getattr, which is handed on" : text, false);
}

/* ---- calls ---- */

/* The bytes of a text: of one in a line those that its escapes stand for, of another one those of the characters that its
 * UTF-8 stands for; NULL without memory. No character is beyond what latin1 has. */
static uint8_t *decode(const loading_machine *m, const loading_item *of, size_t *size)
{
    uint8_t *bytes = assay_alloc((size_t)of->size + 1);
    *size = 0;
    for (uint32_t i = 0; bytes && i < of->size; i++) {
        const uint8_t *b = m->bytes + of->at + i;
        unsigned code = 0;
        char digits[5] = "";
        if (of->escaped && i + 5 < of->size && b[0] == '\\' && b[1] == 'u') {
            memcpy(digits, b + 2, 4);
            code = (unsigned)strtoul(digits, NULL, 16);
            i += 5;
        } else if (!of->escaped && (b[0] & 0xe0) == 0xc0 && i + 1 < of->size) {
            code = (unsigned)(b[0] << 6 | (b[1] & 0x3f));
            i++;
        } else {
            code = b[0];
        }
        bytes[(*size)++] = (uint8_t)code;
    }
    return bytes;
}

/* False: the bytes begin no pickle. What they hold is looked at. */
static bool scan_encoded(loading_machine *m, const loading_item *of)
{
    size_t size = 0;
    uint8_t *bytes = decode(m, of, &size);
    if (!bytes) {
        m->status = ASSAY_ENOMEM;
        return true;
    }
    const bool pickle = assay_loading_is_pickle(bytes, size) && m->depth < NESTED_MOST;
    if (pickle)
        m->status = loading_scan(bytes, size, m->base + of->at, m->depth + 1, m->most / 2, m->out);
    free(bytes);
    return pickle;
}

static bool is_text(const loading_machine *m, const loading_item *item, const char *text)
{
    return item->kind == LOADING_TEXT && item->size == strlen(text) &&
           memcmp(m->bytes + item->at, text, item->size) == 0;
}

/* What was written with latin1, and with nothing that makes other bytes. */
static bool is_latin(const loading_machine *m, const loading_value *arguments)
{
    const loading_item *codec = &arguments->held[1];
    return arguments->count == 2 && arguments->held[0].kind == LOADING_TEXT &&
           (is_text(m, codec, "latin1") || is_text(m, codec, "latin-1") || is_text(m, codec, "iso-8859-1"));
}

/* torch.storage._load_from_bytes loads what it is given, whatever that is: only a pickle that was looked at is data. */
static void judge_load(loading_machine *m, const loading_item *first)
{
    const bool plain = first->kind == LOADING_TEXT && !first->escaped && m->depth < NESTED_MOST &&
                       assay_loading_is_pickle(m->bytes + first->at, first->size);
    if (!plain && !(first->kind == LOADING_ENCODED && scan_encoded(m, first)))
        loading_note(m, ASSAY_LOADING_CODE, "torch.storage._load_from_bytes of what cannot be looked at", true);
}

/* A text as a name, terminated; false: it is none. */
static bool copy_text(const loading_machine *m, const loading_item *of, char *out, size_t room)
{
    if (of->kind != LOADING_TEXT || of->escaped || of->size >= room || !is_name(m, of->at, of->size))
        return false;
    memcpy(out, m->bytes + of->at, of->size);
    out[of->size] = '\0';
    return true;
}

/* getattr(CLASS, "MEMBER") is how members of enumerations are saved, and getattr(OBJECT, "METHOD") how methods are. */
static loading_value get_member(loading_machine *m, const loading_value *arguments)
{
    char name[ASSAY_LOADING_NAME], both[NAME_MOST];
    const loading_item *of = &arguments->held[0];
    loading_value result = {.self.kind = LOADING_BOUND};
    const bool plain = arguments->count == 2 && copy_text(m, &arguments->held[1], name, sizeof name) &&
                       strncmp(name, "__", 2) != 0 && !strchr(name, '.');
    if (plain && of->kind == LOADING_NAME && !special_of(m, of)) {
        const int length = snprintf(both, sizeof both, "%s.%s", own_name_of(m, of), name);
        if (length >= 0 && (size_t)length < sizeof both) {
            char module[NAME_MOST];
            snprintf(module, sizeof module, "%s", module_of(m, of));
            result.self = keep_name(m, LOADING_MEMBER, module, both);
            if (assay_loading_leads_to_code(both))
                note_name(m, ASSAY_LOADING_CODE, module, both, false);
            return result;
        }
    }
    if (!plain || of->kind != LOADING_RESULT)
        loading_note(m, ASSAY_LOADING_CODE, "getattr of an object", true);
    else
        loading_note(m, ASSAY_LOADING_CLASSES, "a method of an object", false);
    return result;
}

/* List[int] is saved as a call of getitem. */
static void judge_getitem(loading_machine *m, const loading_value *arguments)
{
    if (arguments->count != 2 || arguments->held[0].kind != LOADING_NAME || special_of(m, &arguments->held[0]))
        loading_note(m, ASSAY_LOADING_CODE, "operator.getitem of an object", true);
}

/* NumPy's functions by element are saved by the names of their modules and their own. */
static void judge_ufunc(loading_machine *m, const loading_value *arguments)
{
    char module[ASSAY_LOADING_NAME], name[ASSAY_LOADING_NAME];
    if (copy_text(m, &arguments->held[0], module, sizeof module) &&
        copy_text(m, &arguments->held[1], name, sizeof name))
        note_name(m, assay_loading_grade_of(module, name, true), module, name, true);
    else
        loading_note(m, ASSAY_LOADING_CODE, "numpy.core._ufunc_reconstruct of what is no text", true);
}

/* What a function calls of its arguments counts as called here. */
static void judge_called(loading_machine *m, const loading_item *item, bool needed)
{
    if (item->kind == LOADING_NAME || item->kind == LOADING_MEMBER)
        judge_name(m, item, true);
    else if (needed || item->kind == LOADING_BOUND || item->kind == LOADING_RESULT)
        loading_note(m, ASSAY_LOADING_CODE, "what a call returned", true);
}

loading_value loading_call(loading_machine *m, const loading_value *called, const loading_value *arguments)
{
    static const loading_value nothing = {.self.kind = LOADING_TUPLE};
    const loading_value *a = arguments->self.kind == LOADING_TUPLE ? arguments : &nothing;
    loading_value result = {.self.kind = LOADING_RESULT};
    const struct special *special = special_of(m, &called->self);
    if (special && special->what == GETATTR)
        return get_member(m, a);
    if (special && special->what == GETITEM) {
        judge_getitem(m, a);
        return (loading_value){.self.kind = LOADING_BOUND};
    }
    if (special && special->what == TYPE) { /* the type of None is saved as a call */
        if (a->count != 1)
            loading_note(m, ASSAY_LOADING_CODE, "builtins.type", true);
        return (loading_value){.self.kind = LOADING_BOUND};
    }
    if (special && special->what == LOAD)
        judge_load(m, &a->held[0]);
    else if (special && special->what == UFUNC)
        judge_ufunc(m, a);
    else if (special)
        judge_called(m, &a->held[special->calls], special->calls == 0);
    else if (called->self.kind == LOADING_BOUND || called->self.kind == LOADING_RESULT)
        loading_note(m, ASSAY_LOADING_CODE, "what a call returned", true);
    if (special || (called->self.kind != LOADING_NAME && called->self.kind != LOADING_MEMBER))
        return result;
    const char *module = module_of(m, &called->self), *name = own_name_of(m, &called->self);
    judge_name(m, &called->self, true);
    if (strcmp(module, "_codecs") == 0 && strcmp(name, "encode") == 0 && is_latin(m, a)) {
        result.self = a->held[0];
        result.self.kind = LOADING_ENCODED;
    }
    return result;
}

void loading_change(loading_machine *m, const loading_value *of)
{
    if (of->self.kind == LOADING_NAME || of->self.kind == LOADING_MEMBER || of->self.kind == LOADING_BOUND)
        loading_note(m, ASSAY_LOADING_CODE, "a change of what a module or class has", true);
}
