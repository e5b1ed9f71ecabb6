/* Words for a shell: whatever a name is made of, sh takes the command for well-formed and the word for that name. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <assay/pack.h>

#include "random.h"

enum { WORDS = 400, LONGEST = 40 };

/* Runs a script; false when sh calls it malformed, or when it fails. Its output goes into `out`. */
static bool shell(const char *script, size_t size, const char *options, assay_buf *out)
{
    char path[] = "/tmp/assay-shell-XXXXXX", command[128], piece[4096];
    int fd = mkstemp(path);
    bool done = fd >= 0 && write(fd, script, size) == (ssize_t)size;
    snprintf(command, sizeof command, "cd / && exec sh %s %s", options, path);
    FILE *pipe = done ? popen(command, "r") : NULL;
    for (size_t got; pipe && (got = fread(piece, 1, sizeof piece, pipe)) > 0;)
        assay_put_bytes(out, piece, got);
    done = pipe && pclose(pipe) == 0;
    close(fd);
    unlink(path);
    return done;
}

static void check(char (*word)[LONGEST + 1], size_t words)
{
    assay_buf script, out, expected;
    assay_buf_init(&script, 1 << 22);
    assay_buf_init(&out, 1 << 22);
    assay_buf_init(&expected, 1 << 22);
    for (size_t i = 0; i < words; i++) {
        assay_put_format(&script, "printf '%%s\\n' ");
        assay_put_shell_word(&script, word[i]);
        assay_put_u8(&script, '\n');
        assay_put_format(&expected, "%s\n", word[i]);
    }
    CU_ASSERT_EQUAL_FATAL(assay_buf_status(&script), 0);
    CU_ASSERT(shell((const char *)script.data, script.size, "-n", &out));
    CU_ASSERT_EQUAL(out.size, 0);
    CU_ASSERT(shell((const char *)script.data, script.size, "", &out));
    CU_ASSERT(out.size == expected.size && memcmp(out.data, expected.data, out.size) == 0);
    for (size_t i = 0; i < script.size; i++) /* nothing that acts on a terminal; a line is a line */
        CU_ASSERT(script.data[i] >= 0x20 || script.data[i] == '\n');
    assay_buf_release(&script), assay_buf_release(&out), assay_buf_release(&expected);
}

static void test_known(void)
{
    char word[][LONGEST + 1] = {"worker_0", "w$(touch X)",
                                "`id`",     "it's",
                                "a b",      "",
                                "--help",   "a;b",
                                "*",        "~",
                                "#",        "a=b",
                                "!!",       "\\",
                                "\\n",      "$HOME",
                                "\"q\"",    "two\nlines",
                                "\x1b[31m", "\xff\xfe",
                                "\xc3\xbc", "\xe2\x80\xae-rtl",
                                "\t",       "%s%n",
                                "''",       "'",
                                "a\rb",     "\x7f",
                                "{a,b}",    "a&b|c>d<e"};
    check(word, sizeof word / sizeof *word);
    assay_buf out;
    assay_buf_init(&out, 1000);
    assay_put_shell_word(&out, "runs/17/conv1.weight:0");
    CU_ASSERT(out.size == 22 && memcmp(out.data, "runs/17/conv1.weight:0", 22) == 0);
    assay_buf_release(&out);
}

static void test_random(void)
{
    static char word[WORDS][LONGEST + 1];
    static const char marks[] = "'\"\\$`(){}[]<>|&;*?~#!=% \n\t-/";
    uint64_t random = 23;
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < WORDS; i++) {
            size_t length = random_below(&random, LONGEST);
            for (size_t k = 0; k < length; k++) {
                uint32_t way = random_below(&random, 3);
                word[i][k] = way == 0   ? marks[random_below(&random, sizeof marks - 1)]
                             : way == 1 ? (char)('a' + random_below(&random, 26))
                                        : (char)(1 + random_below(&random, 255));
            }
            word[i][length] = '\0';
            while (length > 0 && word[i][length - 1] == '\n') /* a shell drops them */
                word[i][--length] = '\0';
        }
        check(word, WORDS);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"words that shells take apart", test_known}, {"random words", test_random}, CU_TEST_INFO_NULL};
    return unit_main("base/shell", tests);
}
