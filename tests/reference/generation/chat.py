"""Chats as transformers' `apply_chat_template` writes them, for templates in the manner of published models.

    pip install transformers jinja2
    python chat.py

Made with transformers 5.24.0 and jinja2 3.1.6. chat.json is a list of the settings of a tokenizer, what system and user say, and the text.
"""

import json
from pathlib import Path

from transformers.utils.chat_template_utils import render_jinja_template

HERE = Path(__file__).parent
MARKS = (
    "{% for message in messages %}\n    {%- if loop.first and message.role != 'system' %}\n{{ '<|im_start|>system\\nYou answer.<|im_end|>\\n' }}"
    "\n    {%- endif %}\n    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'].strip() + '<|im_end|>' + '\\n' -}}\n"
    "{% endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n"
)
HEADERS = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system = messages[0]['content'] %}"
    "{% else %}{% set loop_messages = messages %}{% set system = '' %}{% endif %}{% for message in loop_messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns') }}{% endif %}"
    "[INST] {% if loop.first and system %}<<SYS>>{{ system }}<</SYS>>{% endif %}{{ message['content'] | trim }} [/INST]{{ eos_token }}{% endfor %}"
)
THINKING = (
    "{%- set ns = namespace(last=messages|length - 1, tool=false) %}\n{%- for message in messages[::-1] %}\n"
    "    {%- set index = (messages|length - 1) - loop.index0 %}\n"
    "    {%- if message.role == 'user' and message.content is string and not message.content.startswith('<tool') %}\n"
    "        {%- set ns.last = index %}\n    {%- endif %}\n{%- endfor %}\n"
    "{%- if tools %}{{- tools | tojson }}{%- endif %}\n{%- for message in messages %}\n"
    "    {{- '<' + message.role + ':' + ns.last|string + '>' + message.content.split('</think>')[-1].lstrip('\\n') + '\\n' }}\n{%- endfor %}\n"
    "{%- if add_generation_prompt %}\n    {{- '<assistant>\\n' }}\n    {%- if enable_thinking is defined and enable_thinking is false %}"
    "{{- '<think>' }}{%- endif %}\n{%- endif %}"
)


def main():
    cases = []
    for template in (MARKS, HEADERS, THINKING):
        for system in (None, "你是分析师。"):
            settings = {"chat_template": template, "bos_token": {"content": "<s>", "lstrip": False}, "eos_token": "</s>"}
            user = " 公司拟回购股份。\n利好还是利空？ "
            messages = ([{"role": "system", "content": system}] if system else []) + [{"role": "user", "content": user}]
            made, _ = render_jinja_template(
                conversations=[messages], chat_template=template, add_generation_prompt=True, bos_token="<s>", eos_token="</s>"
            )
            cases.append({"settings": settings, "system": system, "user": user, "text": made[0]})
    (HERE / "chat.json").write_text(json.dumps(cases, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


main()
