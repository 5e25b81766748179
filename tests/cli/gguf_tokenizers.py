"""Hugging Face tokenizers in the forms that GGUF files can say, and what gguf_files.add_tokenizer() is told of each."""
import json

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers
from tokenizer_corpus import (LLAMA3_WORDS, QWEN2_WORDS, SPECIAL, byte_level, gemma_style, llama2_style, plain, spoken, trained, with_begin)


def split_by(expression):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(expression), "isolated"), byte_level(regex=False)])


def bytes_style(pre_tokenizer, normalizer=None, special=(), **options):
    t = Tokenizer(models.BPE(**options))
    t.pre_tokenizer = pre_tokenizer
    if normalizer:
        t.normalizer = normalizer
    trained(t, 1000, list(special))
    t.add_special_tokens(SPECIAL)
    t.add_tokens([AddedToken(x, normalized=False, special=False) for x in ("<tool>", "</tool>", "<think>")])
    return t


def phi3_style():
    """Llama 2's with tokens behind which white space is swallowed, as GGUF's architecture phi3 says."""
    t = llama2_style(1500)
    t.add_special_tokens([AddedToken("</s>", normalized=False, special=True, rstrip=True)])
    t.add_special_tokens(plain(["<|im_start|>", "<|im_end|>"], special=True, rstrip=True))
    t.add_special_tokens(plain(["<|endoftext|>"], special=True))
    return t


def with_unreached_words(tokenizer):
    """Words that are tokens and that no merges make, as Llama 3 has them."""
    description = json.loads(tokenizer.to_str())
    merges = description["model"]["merges"]
    description["model"]["merges"] = merges[:500] + merges[500::2]
    return Tokenizer.from_str(json.dumps(description))


def made():
    """name: (tokenizer, arguments)"""
    digits = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()])
    llama3 = with_unreached_words(bytes_style(split_by(LLAMA3_WORDS), ignore_merges=True))
    with_begin(llama3, "<|im_start|>")
    ends = dict(bos="<|im_start|>", eos="<|endoftext|>")
    return {
        "gpt2": (bytes_style(byte_level(), special=["<|pad|>"]), dict(pre="gpt-2", **ends)),
        "smollm": (bytes_style(digits, special=["<|a|>", "<|b|>"]), dict(pre="smollm", **ends)),
        "qwen2": (bytes_style(split_by(QWEN2_WORDS), normalizers.NFC()), dict(pre="qwen2", **ends)),
        "llama3": (llama3, dict(pre="llama-bpe", **ends)),
        "gemma": (gemma_style(1500), dict(pre=None, bos="<bos>", eos="<eos>", unk="<unk>", pad="<pad>", more=dict(add_add_space_prefix=False))),
        "llama2": (llama2_style(1500), dict(pre=None, bos="<s>", eos="</s>", unk="<unk>")),
        "phi3": (phi3_style(), dict(pre=None, bos="<s>", eos="</s>", unk="<unk>")),
    }


def texts_for(name, texts):
    """Texts without two raw "▁" in a row, of which Gemma's own file has tokens."""
    return [text.replace("▁▁", "▁") for text in spoken(name, texts)]


