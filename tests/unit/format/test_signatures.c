/* The table of signatures (src/format/joblog/signatures.def) is sound in itself, and docs/signatures has all of it: each
 * entry stands on the page of its class with its role, its sentence and a sample, and the first entry of the table that matches
 * the sample is that one.
 *
 * `test_signatures --write` writes the table of docs/signatures/README.md. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/regex.h"
#include "format/joblog/joblog.h"

typedef struct signature {
    const char *id, *class, *role, *scope, *literal, *regex, *sentence;
} signature;

static const signature table[] = {
#define X(id, class, role, scope, literal, regex, sentence) {#id, #class, #role, #scope, literal, regex, sentence},
#include "format/joblog/signatures.def"
#undef X
};
enum { COUNT = sizeof table / sizeof *table };
static assay_regex *compiled[COUNT];

#define PAGES ASSAY_TEST_DATA "/../../docs/signatures/"
#define BEGIN "<!-- table: test_signatures --write -->\n"
#define END   "<!-- end of the table -->\n"

static bool is_one_of(const char *word, size_t length, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == length && memcmp(*words, word, length) == 0)
            return true;
    return false;
}

/* The next {name} or (?<name> of a text; NULL: there is none. */
static const char *next_name(const char *text, const char *open, char close, size_t *length)
{
    const char *at = strstr(text, open);
    if (!at)
        return NULL;
    at += strlen(open);
    const char *end = strchr(at, close);
    *length = end ? (size_t)(end - at) : 0;
    return end ? at : NULL;
}

static void test_table(void)
{
    static const char *const roles[] = {"CAUSE", "CONSEQUENCE", "EITHER", "NOISE", NULL};
    static const char *const scopes[] = {"RANK", "NODE", "JOB", NULL};
    static const char *const groups[] = {"size", "free", "rank", "local", "node", "code",
                                         "gpu",  "step", "pid",  "what",  NULL};
    for (size_t i = 0; i < COUNT; i++) {
        const signature *s = &table[i];
        bool sound = is_one_of(s->role, strlen(s->role), roles) && is_one_of(s->scope, strlen(s->scope), scopes) &&
                     strlen(s->literal) >= 4 && s->sentence[0] &&
                     (strcmp(s->role, "NOISE") == 0) == (strcmp(s->class, "noise") == 0);
        size_t length = 0;
        for (size_t k = 0; k < i; k++)
            sound = sound && strcmp(table[k].id, s->id) != 0;
        for (const char *at = s->regex; (at = next_name(at, "(?<", '>', &length));)
            if (*at != '=' && *at != '!')
                sound = sound && is_one_of(at, length, groups);
        for (const char *at = s->sentence; (at = next_name(at, "{", '}', &length));) { /* what it names is a group */
            char group[40];
            snprintf(group, sizeof group, "(?<%.*s>", (int)length, at);
            sound = sound && strstr(s->regex, group);
        }
        if (!sound)
            fprintf(stderr, "%s is not sound\n", s->id);
        CU_ASSERT(sound);
    }
}

/* The entry that a line is taken for; COUNT: none. */
static size_t match(const char *line, size_t length)
{
    for (size_t i = 0; i < COUNT; i++) {
        bool has = false;
        const size_t literal = strlen(table[i].literal);
        for (size_t at = 0; !has && at + literal <= length; at++)
            has = memcmp(line + at, table[i].literal, literal) == 0;
        if (has && (!compiled[i] || assay_regex_search(compiled[i], line, length) == 1))
            return i;
    }
    return COUNT;
}

static bool read_page(const char *name, assay_buf *text)
{
    char path[512];
    assay_error err = {""};
    snprintf(path, sizeof path, PAGES "%s.md", name);
    for (char *at = path + strlen(PAGES); *at; at++)
        *at = *at == '_' ? '-' : *at;
    assay_buf_init(text, 1 << 20);
    const bool there = assay_file_read(path, 1 << 20, text, &err) == ASSAY_OK;
    assay_put_u8(text, 0);
    if (!there)
        fprintf(stderr, "%s\n", err.text);
    return there;
}

/* Where the samples of an entry stand on its page. */
static const char *sample_of(const char *page, const char *id, size_t *length)
{
    char head[100];
    snprintf(head, sizeof head, "\n## %s\n", id);
    const char *section = strstr(page, head), *next = section ? strstr(section + 1, "\n## ") : NULL,
               *block = section ? strstr(section, "\n```text\n") : NULL;
    if (!block || (next && next < block))
        return NULL;
    block += strlen("\n```text\n");
    const char *end = strstr(block, "\n```");
    *length = end ? (size_t)(end - block) : 0;
    return end ? block : NULL;
}

/* Does the section of an entry say its role and its sentence? */
static bool is_told(const char *page, const signature *s)
{
    char head[100], role[40], sentence[600];
    snprintf(head, sizeof head, "\n## %s\n", s->id);
    snprintf(role, sizeof role, "\n`%s`, said ", s->role);
    snprintf(sentence, sizeof sentence, ": \"%s\"\n", s->sentence);
    const char *section = strstr(page, head), *next = section ? strstr(section + 1, "\n## ") : NULL;
    const char *at = section ? strstr(section, role) : NULL, *said = at ? strstr(at, sentence) : NULL;
    return said && (!next || said < next);
}

/* What launchers say of codes is of the kind that vocabulary.c has for them. */
static void hold_codes(void)
{
    static const struct {
        const char *front, *behind;
        bool exits; /* 128 + N stands for signal N */
    } SAID[] = {{"failed (exitcode: ", ") local_rank: 0 (pid: 7) of binary: a", false},
                {"process 7 (local_rank 0) FAILED (exitcode ", ")", false},
                {"Container rank 2 status failed cmd a code ", "", false},
                {"x '--local_rank=1' exits with return code = ", "", false},
                {"rank 3 ended with ", "", true},
                {"=   EXIT CODE: ", "", true}};
    for (int code = 1; code < 32; code++) {
        assay_ending ending;
        assay_log_role role;
        if (!joblog_ending_of_code(-code, &ending, &role))
            continue;
        for (size_t i = 0; i < sizeof SAID / sizeof *SAID; i++) {
            char line[128];
            snprintf(line, sizeof line, "%s%d%s", SAID[i].front, SAID[i].exits ? 128 + code : -code, SAID[i].behind);
            const size_t number = match(line, strlen(line));
            const char *class = number < COUNT ? table[number].class : "none";
            const bool is = strcmp(class, ending == ASSAY_ENDING_crash ? "crash" : "signal") == 0 ||
                            (ending == ASSAY_ENDING_signal && code != SIGKILL && strcmp(class, "launcher") == 0);
            if (!is)
                fprintf(stderr, "%s: is taken for %s\n", line, class);
            CU_ASSERT(is);
        }
    }
}

static void test_samples(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        assay_error err = {""};
        if (table[i].regex[0] && assay_regex_new(table[i].regex, &compiled[i], &err) != ASSAY_OK)
            fprintf(stderr, "%s: %s\n", table[i].id, err.text);
        CU_ASSERT(!table[i].regex[0] || compiled[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assay_buf page;
        size_t length = 0;
        CU_ASSERT_FATAL(read_page(table[i].class, &page));
        const char *sample = sample_of((const char *)page.data, table[i].id, &length);
        const bool told = is_told((const char *)page.data, &table[i]);
        if (!told)
            fprintf(stderr, "%s: its page does not say \"%s\"\n", table[i].id, table[i].sentence);
        CU_ASSERT(sample && length > 0 && told);
        for (size_t at = 0; sample && at < length;) { /* several lines are several wordings */
            const char *end = memchr(sample + at, '\n', length - at);
            const size_t line = end ? (size_t)(end - sample) - at : length - at, taken = match(sample + at, line);
            if (taken != i)
                fprintf(stderr, "%s: its sample is taken for %s: %.*s\n", table[i].id,
                        taken == COUNT ? "nothing" : table[taken].id, (int)line, sample + at);
            CU_ASSERT(taken == i);
            at += line + 1;
        }
        assay_buf_release(&page);
    }
    hold_codes();
    for (size_t i = 0; i < COUNT; i++)
        assay_regex_free(compiled[i]);
}

/* A row of one class: how many signatures its page has, and of which roles. */
static void put_class(const char *class, assay_buf *out)
{
    static const char *const roles[] = {"CAUSE", "CONSEQUENCE", "EITHER", "NOISE"};
    enum { ROLES = sizeof roles / sizeof *roles };
    size_t of_role[ROLES] = {0}, all = 0;
    char file[64];
    snprintf(file, sizeof file, "%s", class);
    for (char *at = file; *at; at++)
        *at = *at == '_' ? '-' : *at;
    for (size_t i = 0; i < COUNT; i++)
        for (size_t r = 0; r < ROLES && strcmp(table[i].class, class) == 0; r++)
            if (strcmp(table[i].role, roles[r]) == 0) {
                of_role[r]++;
                all++;
            }
    assay_put_format(out, "| [%s](%s.md) | %zu |", class, file, all);
    for (size_t r = 0; r < ROLES; r++)
        if (of_role[r])
            assay_put_format(out, " %zu |", of_role[r]);
        else
            assay_put_format(out, " |");
    assay_put_format(out, "\n");
}

/* README.md as it has to be. */
static bool put_readme(const char *page, assay_buf *out)
{
    const char *begin = strstr(page, BEGIN), *end = begin ? strstr(begin, END) : NULL;
    if (!end)
        return false;
    assay_put_bytes(out, page, (size_t)(begin - page));
    assay_put_format(
        out, "%s| class | signatures | CAUSE | CONSEQUENCE | EITHER | NOISE |\n|---|---|---|---|---|---|\n", BEGIN);
    for (size_t i = 0; i < COUNT; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(table[k].class, table[i].class) == 0;
        if (!seen)
            put_class(table[i].class, out);
    }
    assay_put_bytes(out, end, strlen(end));
    return assay_buf_status(out) == ASSAY_OK;
}

static void test_readme(void)
{
    assay_buf page, wanted;
    CU_ASSERT_FATAL(read_page("README", &page));
    assay_buf_init(&wanted, 1 << 20);
    const bool same = put_readme((const char *)page.data, &wanted) && wanted.size + 1 == page.size &&
                      memcmp(wanted.data, page.data, wanted.size) == 0;
    if (!same)
        fprintf(stderr, "docs/signatures/README.md differs: run build/tests/unit/test_signatures --write\n");
    CU_ASSERT(same);
    assay_buf_release(&page);
    assay_buf_release(&wanted);
}

static int write_readme(void)
{
    assay_buf page, wanted;
    assay_error err = {""};
    assay_buf_init(&wanted, 1 << 20);
    const bool written = read_page("README", &page) && put_readme((const char *)page.data, &wanted) &&
                         assay_file_write(PAGES "README.md", wanted.data, wanted.size, &err) == ASSAY_OK;
    assay_buf_release(&page);
    assay_buf_release(&wanted);
    return !written;
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"table", test_table},
                           {"samples", test_samples},

                           {"readme", test_readme},
                           CU_TEST_INFO_NULL};
    return argc > 1 && strcmp(argv[1], "--write") == 0 ? write_readme() : unit_main("signatures", tests);
}
