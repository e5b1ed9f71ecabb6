/* What loading a pickle would run: the grade of names, and of pickles by their opcodes. */
#include "unit.h"

#include <string.h>

#include "verify/loading.h"

static assay_loading scan(const char *bytes, size_t size)
{
    assay_loading found = {0};
    CU_ASSERT_EQUAL(assay_loading_scan(bytes, size, SIZE_MAX, &found), 0);
    return found;
}

#define SCAN(text) scan(text, sizeof text - 1)

static void test_names(void)
{
    static const struct {
        const char *module, *name;
        assay_loading_grade grade;
    } known[] = {
        {"collections", "OrderedDict", ASSAY_LOADING_DATA},
        {"torch._utils", "_rebuild_tensor_v2", ASSAY_LOADING_DATA},
        {"torch", "FloatStorage", ASSAY_LOADING_DATA},
        {"numpy.core.multiarray", "scalar", ASSAY_LOADING_DATA},
        {"torch.nn.modules.linear", "Linear", ASSAY_LOADING_DATA},
        {"transformers.training_args", "TrainingArguments", ASSAY_LOADING_DATA},
        {"argparse", "Namespace", ASSAY_LOADING_DATA},
        {"builtins", "ValueError", ASSAY_LOADING_DATA},
        {"__main__", "Net", ASSAY_LOADING_CLASSES},
        {"sklearn.tree._tree", "Tree", ASSAY_LOADING_CLASSES},
        {"os", "system", ASSAY_LOADING_CODE},
        {"posix", "system", ASSAY_LOADING_CODE},
        {"builtins", "eval", ASSAY_LOADING_CODE},
        {"builtins", "__import__", ASSAY_LOADING_CODE},
        {"collections", "abc.os.system", ASSAY_LOADING_CODE},
        {"torch.serialization", "os.system", ASSAY_LOADING_CODE},
        {"torch", "load", ASSAY_LOADING_CODE},
        {"torch.hub", "load_state_dict_from_url", ASSAY_LOADING_CODE},
        {"numpy.testing._private.utils", "runstring", ASSAY_LOADING_CODE},
        {"subprocess", "Popen", ASSAY_LOADING_CODE},
        {"torch._dynamo.guards", "GuardBuilder.get", ASSAY_LOADING_CODE},
        {"torch._dynamo.eval_frame", "OptimizedModule", ASSAY_LOADING_DATA},
        {"torch.nn.modules.module", "Module.load_state_dict", ASSAY_LOADING_CODE},
        {"transformers", "AutoModel.from_pretrained", ASSAY_LOADING_CODE},
        {"dill._dill", "_eval_repr", ASSAY_LOADING_CODE},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CU_ASSERT_EQUAL(assay_loading_grade_of(known[i].module, known[i].name, false), known[i].grade);
}

static void test_data(void)
{
    CU_ASSERT_EQUAL(SCAN("\x80\x02}q\x00.").grade, ASSAY_LOADING_DATA);
    CU_ASSERT_EQUAL(SCAN("\x80\x02"
                         "ccollections\nOrderedDict\n)R.")
                        .grade,
                    ASSAY_LOADING_DATA);
    CU_ASSERT_EQUAL(SCAN("\x80\x02"
                         "c__builtin__\ngetattr\n(ctorch\nSize\nS'numel'\ntR.")
                        .grade,
                    ASSAY_LOADING_DATA);
    CU_ASSERT_EQUAL(SCAN("").grade, ASSAY_LOADING_DATA);
    CU_ASSERT_EQUAL(SCAN("version https://git-lfs").grade, ASSAY_LOADING_DATA);
}

static void test_code(void)
{
    const assay_loading plain = SCAN("\x80\x02"
                                     "cos\nsystem\n(S'id'\ntR.");
    CU_ASSERT_EQUAL(plain.grade, ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(plain.kept, 1);
    CU_ASSERT(plain.list[0].called);
    CU_ASSERT_STRING_EQUAL(plain.list[0].name, "os.system");
    CU_ASSERT_STRING_EQUAL(plain.list[0].opcode, "REDUCE");
    CU_ASSERT_EQUAL(plain.list[0].offset, 21);
    CU_ASSERT(!SCAN("\x80\x02"
                    "cos\nsystem\n.")
                   .list[0]
                   .called);
    CU_ASSERT_EQUAL(SCAN("\x80\x02}.\x80\x02"
                         "cos\nsystem\n(S'id'\ntR.")
                        .grade,
                    ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(SCAN("(S'id'\nios\nsystem\n.").grade, ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(SCAN("(cos\nsystem\nS'id'\no.").grade, ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(SCAN("\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x8c\x02id\x85R.").grade, ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(SCAN("\x80\x04\x8c\x02os\x94"
                         "0\x8c\x06system\x94"
                         "0h\x00h\x01\x93.")
                        .grade,
                    ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(SCAN("\x80\x02"
                         "c__main__\nf\n)R)R.")
                        .grade,
                    ASSAY_LOADING_CODE); /* what a call returned */
    CU_ASSERT_EQUAL(SCAN("\x80\x02"
                         "c__main__\nf\n}b.")
                        .grade,
                    ASSAY_LOADING_CODE); /* BUILD on a name */
    CU_ASSERT_EQUAL(SCAN("\x80\x02\x82\x07.").grade, ASSAY_LOADING_CLASSES);
    CU_ASSERT_EQUAL(SCAN("\x80\x02"
                         "c__main__\nNet\n)\x81}b.")
                        .grade,
                    ASSAY_LOADING_CLASSES);
}

/* Texts and slots that Python reads as others than they seem. */
static void test_disguises(void)
{
    CU_ASSERT_EQUAL(SCAN("\x80\x04S'\\x6fs'\nS'system'\n\x93.").grade, ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(SCAN("\x80\x04Vo\\u0073\nVsystem\n\x93.").grade, ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(SCAN("\x80\x04Vos\np1_0\n.").grade, ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(SCAN("\x80\x04Vos\np10\ng10\n.").grade, ASSAY_LOADING_DATA);
    CU_ASSERT_EQUAL(SCAN("\x80\x04"
                         "cmy-program\nNet\n.")
                        .grade,
                    ASSAY_LOADING_CLASSES);
    CU_ASSERT_EQUAL(SCAN("\x80\x01"
                         "cos\nsystem\n.")
                        .grade,
                    ASSAY_LOADING_CODE);
    CU_ASSERT_TRUE(SCAN("\x80\x04X\x09\0\0\0abc").cut);
    CU_ASSERT_FALSE(SCAN("\x80\x04N.").cut);
}

/* What breaks off is looked at as far as a loader would come. */
static void test_broken(void)
{
    CU_ASSERT_EQUAL(SCAN("\x80\x02"
                         "cos\nsystem\n(S'id'\ntR")
                        .grade,
                    ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(SCAN("\x80\x02X\xff\xff\xff\xff"
                         "cos\nsystem\n")
                        .grade,
                    ASSAY_LOADING_DATA);
    CU_ASSERT_EQUAL(SCAN("\x80\x02tcos\nsystem\n").grade, ASSAY_LOADING_DATA); /* a tuple without a mark ends it */
    CU_ASSERT_EQUAL(SCAN("\x80\x02}.\x00\x00"
                         "cos\nsystem\n.")
                        .grade,
                    ASSAY_LOADING_DATA);                                                      /* elements, no pickle */
    CU_ASSERT_EQUAL(SCAN("\x80\x02}.cos\nsystem\n(S'id'\ntR\xff").grade, ASSAY_LOADING_CODE); /* was run before that */
    CU_ASSERT_EQUAL(SCAN("NN\x93\xff").grade, ASSAY_LOADING_DATA); /* elements, by accident */
}

/* Calls of functions that a class or an activation may stand beside. */
static void test_calls(void)
{
    CU_ASSERT_EQUAL(assay_loading_grade_of("torch.utils.data._utils.collate", "default_collate", false),
                    ASSAY_LOADING_CLASSES);
    CU_ASSERT_EQUAL(assay_loading_grade_of("torch.utils.data._utils.collate", "default_collate", true),
                    ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(assay_loading_grade_of("torch.nn.functional", "gelu", false), ASSAY_LOADING_DATA);
    CU_ASSERT_EQUAL(assay_loading_grade_of("torch.nn.functional", "gelu", true), ASSAY_LOADING_CLASSES);
    CU_ASSERT_EQUAL(assay_loading_grade_of("torch.ao.quantization.utils", "make_it", true), ASSAY_LOADING_CLASSES);
    CU_ASSERT_EQUAL(assay_loading_grade_of("pandas._libs.internals", "_unpickle_block", true), ASSAY_LOADING_CLASSES);
    CU_ASSERT_EQUAL(assay_loading_grade_of("yaml", "unsafe_load", true), ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(assay_loading_grade_of("six.moves.builtins", "getattr", false), ASSAY_LOADING_CODE);
    CU_ASSERT_EQUAL(assay_loading_grade_of("six.moves.builtins", "range", false), ASSAY_LOADING_CLASSES);
}

/* Texts without names that are elements of something, and names among them. */
static void test_hunt(void)
{
    static const char attack[] = "\x80\x02"
                                 "cos\nsystem\n(S'id'\ntR.";
    uint8_t bytes[4096];
    uint32_t seed = 1;
    assay_loading found = {0};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    CU_ASSERT_EQUAL(assay_loading_hunt(bytes, sizeof bytes, SIZE_MAX, &found), 0);
    CU_ASSERT_EQUAL(found.grade, ASSAY_LOADING_DATA);
    memcpy(bytes + 3000, attack, sizeof attack - 1);
    CU_ASSERT_EQUAL(assay_loading_hunt(bytes, sizeof bytes, SIZE_MAX, &found), 0);
    CU_ASSERT_EQUAL(found.grade, ASSAY_LOADING_CODE);
    CU_ASSERT(found.list[0].called);
    CU_ASSERT_EQUAL(found.list[0].offset, 3021);
}

/* What the walk holds stays within what it is given, and what it cannot hold is said. */
static void test_memory(void)
{
    enum { SIZE = 1 << 20, MOST = 1 << 17 };
    static char bytes[SIZE];
    static const struct {
        char opcode;
        bool full;
    } known[] = {{'N', true}, {'(', true}, {'\x94', false}, {'\x85', false}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assay_loading found = {0};
        memset(bytes, known[i].opcode, sizeof bytes);
        memcpy(bytes, "\x80\x04N", 3);
        CU_ASSERT_EQUAL(assay_loading_scan(bytes, sizeof bytes, MOST, &found), 0);
        CU_ASSERT_EQUAL(found.full, known[i].full);
        CU_ASSERT(!found.full || found.end <= MOST);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"names", test_names},         {"data alone", test_data},   {"code", test_code},
                           {"disguises", test_disguises}, {"broken off", test_broken}, {"calls", test_calls},
                           {"hunt", test_hunt},           {"memory", test_memory},     CU_TEST_INFO_NULL};
    return unit_main("loading", tests);
}
