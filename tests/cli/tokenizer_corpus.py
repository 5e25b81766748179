"""Strings and tokenizers for comparing `roll tokenize` with Hugging Face `tokenizers`; everything follows from a seed."""
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

SENTENCES = """
The quick brown fox jumps over the lazy dog, doesn't it? We've said they'll come; I'd say SHE'LL'VE been here'S.
Natalia sold 48/2 = 24 clips in May. Altogether she sold 48+24 = 72 clips, i.e. \\boxed{72} or $1,234.56 (about 3.5%).
def fibonacci(n):\n    \"\"\"Return F(n).\"\"\"\n\tif n < 2:\n\t\treturn n\n    return fibonacci(n-1) + fibonacci(n-2)\n\n\n
for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }  // dot product\r\n#include <vector>\r\n
\\frac{\\sqrt{x^2 + y^2}}{\\sum_{i=1}^{n} \\alpha_i} \\leq \\int_0^\\infty e^{-t} dt
{"key": [1, 2.5e-3, null, true], "другой": "значение", "鍵": "値"}
我们今天去公园散步，天气非常好。你呢？他说：“好的！”然后就走了。价格是￥１２３４元。
東京は日本の首都です。カタカナとひらがなと漢字が混ざっています。ﾊﾝｶｸも。
안녕하세요? 오늘은 날씨가 참 좋네요. 한국어 문장입니다.
مرحبا بالعالم، كيف حالك اليوم؟ السَّلَامُ عَلَيْكُمْ ١٢٣٤٥
שלום עולם! מה שלומך? בְּרֵאשִׁית בָּרָא אֱלֹהִים
नमस्ते दुनिया, आप कैसे हैं? १२३ हिन्दी में क्षत्रिय।
สวัสดีชาวโลก วันนี้อากาศดีมาก ๑๒๓
Привет, мир! Как дела? Съешь ещё этих мягких французских булок, да выпей же чаю. ЁЖ ёж
Γειά σου Κόσμε! Ο ΣΊΣΥΦΟΣ και ο σοφός. Ἐν ἀρχῇ ἦν ὁ λόγος
Ça va très bien, naïve façade; Größe, Straße, ﬁne ﬂow, Ångström, İstanbul, ıssız, Đà Nẵng, Tiếng Việt có dấu
Zażółć gęślą jaźń. Příliš žluťoučký kůň. Árvíztűrő tükörfúrógép.
👋🏽 Hello 👨‍👩‍👧‍👦 family 🇩🇪🇯🇵 flags ❤️‍🔥 ☃️ 1️⃣ 🤷🏻‍♀️ 🫠🫨 🧑🏿‍🚀!!!
e\u0301 vs é, a\u0323\u0302 vs ậ, q\u0307\u0323 q\u0323\u0307, \u1100\u1161\u11a8 각, \u0958 क\u093c, \u212b \u2126 ½ ² ﬀ Ⅷ ㋿ ①
Zero\u200bwidth\u200cjoin\u200der\ufeffBOM\u2060 soft\u00adhyphen nb\u00a0space \u3000ideographic\u2003em \u180emongolian \u0085nel\u2028ls\u2029ps
""".strip().split("\n")

WORDS = " ".join(SENTENCES).split(" ")
SPACES = [" ", "  ", "   ", "    ", "\n", "\n\n", "\t", "\r\n", " \n", "\n ", "\u00a0", "\u3000", "\u2003", "\x0b", "\x0c", "\x85", "\u2028", "\u180e"]
SNIPPETS = SPECIAL + ["<|begin_of_text|>", "<|eot_id|>", "<tool>", "</tool>", "<|im_", "end|>", "<think>", "MASK", "xMASKx", " MASK ", "caf\u00e9", "cafe\u0301", "caf\u00e9s"]
CONTRACTIONS = ["'s", "'T", "'re", "'VE", "'m", "'Ll", "'d", "\u2019s", "'\u017f", "'S's"]
DIGITS = ["0", "12", "345", "6789", "12345678901", "\u0663\u0664", "\u0967", "\u00bd", "\u2168", "\u4e03"]
MARKS = ["\u0301", "\u0323", "\u0327", "\u0308", "\u093c", "\u05b8", "\u064b", "\u3099", "\u0334", "\u1ab0", "\u0898", "\u1dfa", "\u20d0"]
BLOCKS = [(0x20, 0x7F), (0xA0, 0x250), (0x250, 0x400), (0x400, 0x530), (0x590, 0x700), (0x900, 0xE00), (0xE00, 0x1200),
          (0x1E00, 0x2000), (0x2000, 0x2C00), (0x3000, 0x3200), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4), (0xF900, 0xFFFF),
          (0x10000, 0x11FFF), (0x1D000, 0x1E000), (0x1F000, 0x1FB00), (0x20000, 0x32400), (0, 0x20)]


def random_character(rng):
    if rng.random() < 0.15:
        first, last = 0, 0x10FFFF
    else:
        first, last = rng.choice(BLOCKS)
    c = rng.randrange(first, last)
    return chr(c) if not 0xD800 <= c <= 0xDFFF else "\ufffd"


def random_string(rng):
    makers = [
        lambda: rng.choice(WORDS), lambda: rng.choice(WORDS), lambda: rng.choice(WORDS), lambda: " ",
        lambda: rng.choice(SPACES), lambda: rng.choice(SPACES) * rng.randrange(1, 9), lambda: rng.choice(SNIPPETS),
        lambda: rng.choice(CONTRACTIONS), lambda: rng.choice(DIGITS), lambda: rng.choice(MARKS),
        lambda: random_character(rng), lambda: "".join(random_character(rng) for _ in range(rng.randrange(1, 6))),
        lambda: "".join(rng.choice("abcdeABCDE \n'.,!?-_") for _ in range(rng.randrange(1, 12))),
        lambda: rng.choice(SENTENCES),
    ]
    if rng.random() < 0.002:
        return rng.choice(["a", "漢", "\u0301", " ", "\n", "ab", "é ", "=", "🤷"]) * rng.randrange(1, 400)
    return "".join(rng.choice(makers)() for _ in range(rng.randrange(0, 14)))


def random_strings(count, seed=0):
    rng = random.Random(seed)
    return [random_string(rng) for _ in range(count)]


QWEN2_WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
               r"\s+(?!\S)|\s+")
LLAMA3_WORDS = QWEN2_WORDS.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


def byte_level(**options):
    return pre_tokenizers.ByteLevel(add_prefix_space=options.get("prefix", False), use_regex=options.get("regex", True))


def trained(tokenizer, vocab_size, special):
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=special, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(SENTENCES * 3 + random_strings(3000, seed=1), trainer)
    return tokenizer


def qwen2_style(vocab_size=4000):
    """NFC, Split + ByteLevel; special tokens behind the vocabulary; one token that is found in normalized text."""
    t = Tokenizer(models.BPE(byte_fallback=False))
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2_WORDS), "isolated"), byte_level(regex=False)])
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    trained(t, vocab_size, [])
    t.add_special_tokens(SPECIAL)
    t.add_tokens([AddedToken(x, normalized=False, special=False) for x in ("<tool>", "</tool>", "<think>")])
    t.add_tokens([AddedToken("caf\u00e9", normalized=True)])
    return t


def llama3_style(vocab_size=3000):
    """Digits by threes, whole words before merges, a post-processor that adds <|begin_of_text|>."""
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3_WORDS), "isolated"), byte_level(regex=False)])
    trained(t, vocab_size, [])
    t.add_special_tokens(["<|begin_of_text|>", "<|eot_id|>", "<|end_of_text|>"])
    bos = ("<|begin_of_text|>", t.token_to_id("<|begin_of_text|>"))
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A $B:1", special_tokens=[bos])])
    return t


def gpt2_style(vocab_size=2000):
    """GPT-2's own expression, a space before each text, and tokens with every matching rule."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = byte_level(prefix=True)
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    trained(t, vocab_size, ["<|endoftext|>"])
    t.add_tokens([AddedToken("MASK", single_word=True), AddedToken("<think>", lstrip=True, normalized=False),
                  AddedToken("</tool>", rstrip=True), AddedToken("  ", normalized=False)])
    t.add_special_tokens([AddedToken("<|im_end|>", lstrip=True, rstrip=True)])
    return t


def byte_tokens():
    return [f"<0x{byte:02X}>" for byte in range(256)]


def every_split(vocab):
    """Merges as transformers' converters of SentencePiece models write them: every way to make a token out of two, tokens in their order."""
    merges = [(vocab[token], cut, token[:cut], token[cut:]) for token in vocab for cut in range(1, len(token)) if token[:cut] in vocab and token[cut:] in vocab]
    return [(left, right) for _, _, left, right in sorted(merges)]


def sentencepiece_style(special, vocab_size, more=(), **options):
    """BPE over characters with tokens of single bytes for those that it lacks; merges never cross into a "▁", but for one as Gemma has it."""
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=[*special, *byte_tokens()], limit_alphabet=250, show_progress=False)
    t.train_from_iterator(SENTENCES * 3 + random_strings(3000, seed=1), trainer)
    vocab = t.get_vocab()
    for token in ("▁▁", "▁▁▁▁", "▁▁▁▁▁▁▁▁", "\n", "\n\n", "<", "/", ">", "▁<", "▁</", ">▁</", *more):
        vocab.setdefault(token, len(vocab))
    vocab = dict(sorted(vocab.items(), key=lambda item: item[1]))
    return Tokenizer(models.BPE(vocab=vocab, merges=every_split(vocab), unk_token="<unk>", fuse_unk=True, byte_fallback=True, **options))


def with_begin(t, token):
    t.post_processor = processors.TemplateProcessing(single=f"{token} $A", pair=f"{token} $A {token} $B", special_tokens=[(token, t.token_to_id(token))])
    return t


def plain(tokens, **options):
    return [AddedToken(token, normalized=False, **options) for token in tokens]


def gemma_style(vocab_size=2500):
    """As transformers' GemmaTokenizer builds it: no space before a text, and runs of newlines that are tokens of their own."""
    t = sentencepiece_style(["<pad>", "<eos>", "<bos>", "<unk>"], vocab_size, more=("<start_of_turn>", "<end_of_turn>", "\n\n\n", "<table>"))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.add_special_tokens(plain(["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"], special=True))
    t.add_tokens(plain(["\n\n", "\n\n\n", "▁▁", "▁▁▁▁", "<table>"]))
    return with_begin(t, "<bos>")


def llama2_style(vocab_size=2000):
    """The older form, of Llama 2, TinyLlama and Mistral 7B v0.1: a "▁" before every stretch of text."""
    t = sentencepiece_style(["<unk>", "<s>", "</s>"], vocab_size)
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.add_special_tokens(plain(["<unk>", "<s>", "</s>"], special=True))
    return with_begin(t, "<s>")


def phi3_style(vocab_size=1500):
    """Phi-3's: as Llama 2's, with tokens behind which white space is swallowed, and one that is looked for in normalized text."""
    t = llama2_style(vocab_size)
    t.add_special_tokens(plain(["<|im_start|>", "<|im_end|>", "<|endoftext|>"], special=True, rstrip=True))
    t.add_tokens([AddedToken("café", normalized=True)])
    return t


def mistral3_style(vocab_size=2000, scheme="first", split=False):
    """The newer form, of Mistral 7B v0.3: one "▁", before the whole text."""
    t = sentencepiece_style(["<unk>", "<s>", "</s>"], vocab_size, more=("[INST]", "[/INST]"))
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme=scheme, split=split)
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.add_special_tokens(plain(["<unk>", "<s>", "</s>", "[INST]", "[/INST]"], special=True))
    return with_begin(t, "<s>")


def metaspace_style(vocab_size=1000):
    """What the others leave out: a "▁" before each stretch, words cut there, unknown characters without tokens of bytes, Metaspace as decoder."""
    t = mistral3_style(vocab_size, scheme="always", split=True)
    t.model.byte_fallback = False
    t.decoder = decoders.Metaspace("▁", prepend_scheme="always")
    return t


SENTENCEPIECE = {"gemma", "llama2", "phi3", "mistral3", "metaspace"}


def spoken(name, texts):
    """Texts in which special tokens of the others are those of SentencePiece's families, and signs that these know."""
    words = {"<tool>": "<start_of_turn>", "</tool>": "<0x0A>", "MASK": "<table>", "<think>": "> </", "<|endoftext|>": "[INST]", "caf": "▁caf"}
    if name != "phi3":
        words |= {"<|im_start|>": "<bos>" if name == "gemma" else "<s>", "<|im_end|>": "</s>"}
    for old, new in words.items() if name in SENTENCEPIECE else ():
        texts = [text.replace(old, new) for text in texts]
    return texts


TOKENIZERS = {"qwen2": qwen2_style, "llama3": llama3_style, "gpt2": gpt2_style, "gemma": gemma_style, "llama2": llama2_style,
              "phi3": phi3_style, "mistral3": mistral3_style, "metaspace": metaspace_style}
