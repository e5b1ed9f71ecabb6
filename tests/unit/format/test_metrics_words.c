/* What names and printed numbers of logs mean, and settings in YAML. */
#include <math.h>
#include <string.h>

#include "format/metrics/metrics.h"
#include "unit.h"

static void test_modes(void)
{
    static const struct {
        const char *tag;
        int mode;
    } rows[] = {{"loss", ASSAY_MODE_TRAIN},
                {"train/loss", ASSAY_MODE_TRAIN},
                {"eval_loss", ASSAY_MODE_EVAL},
                {"Val loss", ASSAY_MODE_EVAL},
                {"evaluate", ASSAY_MODE_TRAIN},
                {"test.acc", ASSAY_MODE_PREDICT},
                {"test/valid", ASSAY_MODE_EVAL},
                {"metrics/mAP50-95(B)", ASSAY_MODE_EVAL},
                {"metrics/mAP75(B)", ASSAY_MODE_TRAIN},
                {"metrics/accuracy_top1", ASSAY_MODE_EVAL},
                {"", ASSAY_MODE_TRAIN}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CU_ASSERT_EQUAL(metrics_mode_of(rows[i].tag, strlen(rows[i].tag)), rows[i].mode);
}

static void test_rewards(void)
{
    CU_ASSERT(metrics_is_reward_word("Reward", 6) && metrics_is_reward_word("AverageReturn", 13));
    CU_ASSERT(metrics_is_reward_word("AverageEpRet", 12) && !metrics_is_reward_word("rewarded", 8));
}

static bool reads(const char *text, double expected)
{
    double value = 0;
    return metrics_number(text, strlen(text), &value) && (value == expected || (isnan(value) && isnan(expected)));
}

static void test_numbers(void)
{
    static const char *const none[] = {"",     "-",   ".",   "e5",  "1e",       "0x10", "1.2.3",  "true",
                                       "nano", "1 2", "--1", "1.#", "1.#QNAN1", "nan(", "inf(a)", "1.#NO"};
    double value = 0;
    int64_t step = 0;
    CU_ASSERT(reads("1", 1) && reads("+4", 4) && reads("-.5", -0.5) && reads("1.", 1) && reads("1e3", 1000));
    CU_ASSERT(reads("1E-2", 0.01) && reads("0.1", 0.1) && reads("5e-324", 5e-324) && reads("1e999", INFINITY));
    CU_ASSERT(reads("2.7182818284590452353602874", 2.718281828459045) && reads("True", 1) && reads("False", 0));
    CU_ASSERT(reads("nan", NAN) && reads("NaN", NAN) && reads("-inf", -INFINITY) && reads("Infinity", INFINITY));
    CU_ASSERT(reads("nan(ind)", NAN) && reads("-nan(0x7ff8)", NAN) && reads("1.#QNAN0", NAN) && reads("-1.#IND", NAN));
    CU_ASSERT(reads("1.#INF00", INFINITY) && reads("-1.#inf", -INFINITY) && reads("NAN", NAN) && reads("-NaN", NAN));
    CU_ASSERT_EQUAL(metrics_non_finite("-nan(ind), 1", 12, &value), 9);
    CU_ASSERT_EQUAL(metrics_non_finite("nan(a b)", 8, &value), 3);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CU_ASSERT_FALSE(metrics_number(none[i], strlen(none[i]), &value));
    CU_ASSERT(metrics_step_of(7, &step) && step == 7);
    CU_ASSERT(metrics_step_of(-1, &step) && step < 0);
    CU_ASSERT(metrics_step_of(9007199254740992.0, &step) && step < 0);
    CU_ASSERT_FALSE(metrics_step_of(1.5, &step) || metrics_step_of(NAN, &step));
}

static void test_losses(void)
{
    static const char *const losses[] = {"lm loss",      "train/loss_step", "eval_loss",     "CrossEntropyLoss",
                                         "Loss/a",       "loss_summary",    "loss_weighted", "loss_sum/a loss",
                                         "DEV_LOSS",     "AVG.LOSS",        "loss/min",      "minibatch loss",
                                         "bestowed/loss"};
    static const char *const others[] = {
        "loss scale",  "LOSS SCALE",      "LOSSY",     "LOSSless",      "loss_Scale",       "lossy",
        "lm loss PPL", "perplexity loss", "los",       "loss_sum",      "train/Loss Count", "loss-weights",
        "loss_coef_2", "num_loss_tokens", "best_loss", "Best Val Loss", "min_loss",         "eval/lowest loss",
        "bestValLoss"};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        CU_ASSERT(metrics_is_loss(losses[i], strlen(losses[i])));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CU_ASSERT_FALSE(metrics_is_loss(others[i], strlen(others[i])));
}

static int collect(void *context, const char *key, const char *value)
{
    strcat(strcat(strcat(strcat(context, key), "="), value), ";");
    return ASSAY_OK;
}

static void test_yaml(void)
{
    static const char text[] = "a: 1  # remark\nb:\n  c: 'it''s'\n  d: \"\\u0041\\n\"\nlist:\n- 0\n- 1\nnone: null\n"
                               "tag: !!python/object:x\nflow: [1, 2]\n? odd\ne: !!python/object/apply:os.system [x]\n";
    char found[512] = "";
    CU_ASSERT_EQUAL(metrics_yaml(text, strlen(text), collect, found), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(found, "a=1;b.c=it's;b.d=A\n;list=0,1;flow=[1, 2];e=!!python/object/apply:os.system [x];");
}

int main(void)
{
    CU_TestInfo tests[] = {{"modes by words", test_modes},    {"rewards", test_rewards},
                           {"printed numbers", test_numbers}, {"names of losses", test_losses},
                           {"settings in YAML", test_yaml},   CU_TEST_INFO_NULL};
    return unit_main("format/metrics words", tests);
}
