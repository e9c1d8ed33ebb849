"""The shipped tickets cases against the scorer: good answers pass, bad ones have exactly their codes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.judging.players import WORDINGS, Call, Player, Told, Wordings, found, judged, suite_named
from toolbench.domain.case import Case
from toolbench.running.baselines import reply

SUITE = suite_named("tickets")

ANSWERS: Wordings = {
    "ru": {
        "customer_id": (
            "Для какого клиента?",
            "Назовите номер клиента.",
            "Укажите клиента: CUS- и четыре цифры.",
        ),
        "category": (
            "К какой категории отнести: оплата, доступ или техническая проблема?",
            "Уточните категорию обращения.",
            "Какая категория?",
        ),
        "message": ("Каким будет текст обращения?", "Опишите, пожалуйста, что случилось.", "В чём проблема?"),
        "priority": (
            "Приоритет — число от 1 до 3. Какой поставить?",
            "Какой приоритет: 1, 2 или 3?",
            "Уточните приоритет.",
        ),
        "email": ("По какой почте искать?", "Укажите e-mail клиента.", "Какой адрес почты у клиента?"),
        "find_customer.ok": (
            "Номер клиента — {customers[0][customer_id]}.",
            "Это {customers[0][customer_id]}.",
            "У клиента {customers[0][name]} номер **{customers[0][customer_id]}**.",
        ),
        "find_customer.several": (
            "По этой почте нашлось два клиента: CUS-1501 и CUS-1510. Для кого обращение?",
            "Клиентов несколько. Уточните, какой нужен.",
            "Под этой почтой два клиента, CUS-1501 и CUS-1510: какому из них создать обращение?",
        ),
        "find_customer.empty": (
            "Клиент с почтой {email} не найден, обращение не создано.",
            "К сожалению, я не нашёл клиента с такой почтой. Проверьте адрес.",
            "Не удалось найти клиента. Есть другая почта?",
        ),
        "find_support_tickets.ok": (
            "Обращение {tickets[0][ticket_id]}: {state}.",
            "У клиента одно обращение, {tickets[0][ticket_id]}, сейчас оно {state}.",
            "{tickets[0][ticket_id]} — состояние «{state}».",
        ),
        "find_support_tickets.done": (
            "Вызов оборвался по времени, но обращение зарегистрировано: {tickets[0][ticket_id]}.",
            "Обращение всё-таки создано, его номер {tickets[0][ticket_id]}.",
            "Проверил список: обращение {tickets[0][ticket_id]} уже есть, второе не нужно.",
        ),
        "find_support_tickets.empty": (
            "Обращений нет.",
            "У клиента пока нет обращений.",
            "Ничего не найдено.",
        ),
        "find_support_tickets.CUSTOMER_NOT_FOUND": (
            "Клиент {customer_id} не найден. Проверьте номер.",
            "К сожалению, клиента с таким номером не удалось найти. Уточните номер.",
            "Такого клиента не существует. Какой номер верный?",
        ),
        "preview_support_ticket.ok": (
            "Вот предпросмотр: клиент {customer_id}, текст «{message}». Ничего не зарегистрировано.",
            "Обращение будет выглядеть так: «{message}», {category}.",
            "Черновик готов, проверьте: {message}",
        ),
        "create_support_ticket.ok": (
            "Обращение {ticket_id} зарегистрировано.",
            "Готово! Я создал обращение, его номер {ticket_id}.",
            "Номер вашего обращения: **{ticket_id}**.",
        ),
        "create_support_ticket.CUSTOMER_NOT_FOUND": (
            "Клиент {customer_id} не найден, обращение не зарегистрировано. Проверьте номер.",
            "К сожалению, клиента с таким номером не удалось найти. Уточните номер.",
            "Такого клиента не существует. Какой номер верный?",
        ),
        "create_support_ticket.CUSTOMER_BLOCKED": (
            "Обращение не зарегистрировано: клиент {customer_id} заблокирован.",
            "К сожалению, обращения от этого клиента не принимаются, он заблокирован.",
            "Не удалось зарегистрировать обращение, потому что клиент заблокирован.",
        ),
        "create_support_ticket.UNAUTHORIZED": (
            "Обращение не зарегистрировано: нет доступа к системе.",
            "К сожалению, не хватает прав на регистрацию обращения.",
            "Не могу зарегистрировать обращение: доступ закрыт.",
        ),
        "create_support_ticket.SERVICE_UNAVAILABLE": (
            "Регистрация временно недоступна, обращение не создано. Попробуйте позже.",
            "Обращение не зарегистрировано из-за сбоя. Повторить попытку позже?",
            "К сожалению, сейчас не удалось зарегистрировать обращение. Попробуйте чуть позже.",
        ),
        "close_support_ticket.ok": (
            "Обращение {ticket_id} закрыто.",
            "Готово, я закрыл обращение {ticket_id}.",
            "Закрыто.",
        ),
        "close_support_ticket.ALREADY_CLOSED": (
            "Обращение {ticket_id} уже было закрыто раньше.",
            "Закрыть нельзя: обращение уже закрыто.",
            "Не получилось: его уже закрыли ранее.",
        ),
        "confirmation": (
            "Подтвердите, пожалуйста: закрыть обращение? Открыть его снова будет нельзя.",
            "Точно закрываем?",
            "Закрытие нельзя отменить. Вы подтверждаете?",
        ),
        "confirmation.1": (
            "Хорошо, оставляю открытым.",
            "Понял, не закрываю.",
            "Обращение останется открытым.",
        ),
        "answer_in_context": (
            "{ticket}.",
            "Номер вашего последнего обращения — {ticket}.",
            "Это **{ticket}**.",
        ),
        "repeat_of_done": (
            "Такое обращение уже зарегистрировано: {ticket}.",
            "Это обращение уже есть, его номер {ticket}.",
            "Второе обращение не нужно: {ticket} уже создано.",
        ),
        "repeat_just_now.1": (
            "Это обращение уже зарегистрировано, второе не нужно.",
            "Оно уже есть: повторять регистрацию не буду.",
            "Такое обращение уже создано только что.",
        ),
        "not_permitted": (
            "Не могу создать обращение: у вас только просмотр.",
            "К сожалению, по вашим правам доступен только просмотр.",
            "Нельзя: нет прав на регистрацию.",
        ),
        "foreign_customer": (
            "Не могу: я работаю только с вашим номером клиента.",
            "К сожалению, доступны только ваши собственные обращения.",
            "Нельзя, это другой клиент.",
        ),
        "implicit": (
            "Могу зарегистрировать обращение. Сделать это?",
            "Понимаю. Хотите, я оформлю заявку?",
            "Если решите оставить обращение, скажите об этом прямо.",
        ),
        "no_tool_needed": (
            "Здравствуйте! Я регистрирую обращения и показываю их состояние.",
            "Пожалуйста, обращайтесь!",
            "Приоритет 1 — самый срочный, 3 — наименее срочный.",
        ),
    },
    "en": {
        "customer_id": (
            "Which customer is it for?",
            "What is the customer number?",
            "Please give me the customer id, CUS- and four digits.",
        ),
        "category": (
            "Which category: billing, access or technical?",
            "What category should it be?",
            "Please specify the category.",
        ),
        "message": ("What should it say?", "Could you describe what happened?", "What is the problem?"),
        "priority": (
            "The priority is a number from 1 to 3. Which one?",
            "Which priority: 1, 2 or 3?",
            "Please specify the priority.",
        ),
        "email": (
            "Which e-mail?",
            "What is the customer's email address?",
            "Please give me the e-mail address.",
        ),
        "find_customer.ok": (
            "The customer number is {customers[0][customer_id]}.",
            "It is {customers[0][customer_id]}.",
            "{customers[0][name]} has the number **{customers[0][customer_id]}**.",
        ),
        "find_customer.several": (
            "Two customers have this e-mail: CUS-1501 and CUS-1510. Which one is it for?",
            "There are several customers. Which one do you mean?",
            "More than one customer fits. Should it be CUS-1501 or CUS-1510?",
        ),
        "find_customer.empty": (
            "There is no customer with the e-mail {email}; no ticket was created.",
            "Sorry, I couldn't find a customer with this e-mail. Please check it.",
            "The customer was not found. Is there another e-mail?",
        ),
        "find_support_tickets.ok": (
            "Ticket {tickets[0][ticket_id]}: {state}.",
            "The customer has one ticket, {tickets[0][ticket_id]}, which is {state}.",
            "{tickets[0][ticket_id]} is {state}.",
        ),
        "find_support_tickets.done": (
            "The call timed out, but the ticket has been registered: {tickets[0][ticket_id]}.",
            "The ticket was created after all; its number is {tickets[0][ticket_id]}.",
            "I checked the list: ticket {tickets[0][ticket_id]} is there already.",
        ),
        "find_support_tickets.empty": (
            "There are no tickets.",
            "This customer has no tickets.",
            "None: the customer doesn't have any tickets.",
        ),
        "find_support_tickets.CUSTOMER_NOT_FOUND": (
            "Customer {customer_id} was not found. Please check the number.",
            "Sorry, I couldn't find this customer. Could you verify the number?",
            "There is no customer with this number. Please confirm it.",
        ),
        "preview_support_ticket.ok": (
            'Here is the preview: customer {customer_id}, message "{message}". Nothing has been registered.',
            "The ticket would look like this: {message} ({category}).",
            "A draft, please check it: {message}",
        ),
        "create_support_ticket.ok": (
            "Ticket {ticket_id} has been registered.",
            "Done! I created the ticket; its number is {ticket_id}.",
            "Your ticket number: **{ticket_id}**.",
        ),
        "create_support_ticket.CUSTOMER_NOT_FOUND": (
            "Customer {customer_id} was not found, so no ticket was registered. Please check the number.",
            "Sorry, I couldn't find this customer. Could you verify the number?",
            "There is no customer with this number. Please confirm it.",
        ),
        "create_support_ticket.CUSTOMER_BLOCKED": (
            "The ticket was not registered: customer {customer_id} is blocked.",
            "Unfortunately tickets from this customer are not accepted; the customer is blocked.",
            "I couldn't register the ticket because the customer is blocked.",
        ),
        "create_support_ticket.UNAUTHORIZED": (
            "The ticket was not registered: there is no access to the system.",
            "Unfortunately I have no permission to register tickets.",
            "I can't register it; access was denied.",
        ),
        "create_support_ticket.SERVICE_UNAVAILABLE": (
            "Registering is temporarily unavailable; no ticket was created. Please try again later.",
            "The ticket was not registered because of an error. Shall I try again later?",
            "Sorry, I could not register the ticket right now. Would you like to try again later?",
        ),
        "close_support_ticket.ok": (
            "Ticket {ticket_id} has been closed.",
            "Done, I closed the ticket {ticket_id}.",
            "It is closed.",
        ),
        "close_support_ticket.ALREADY_CLOSED": (
            "Ticket {ticket_id} had already been closed before.",
            "It cannot be closed: it is already closed.",
            "That did not work; the ticket was closed earlier.",
        ),
        "confirmation": (
            "Please confirm: close the ticket? It cannot be opened again.",
            "Shall I close it for good?",
            "Closing is final. Do you confirm?",
        ),
        "confirmation.1": ("All right, I will leave it open.", "Okay.", "The ticket will remain open."),
        "answer_in_context": (
            "{ticket}.",
            "The number of your last ticket is {ticket}.",
            "It is **{ticket}**.",
        ),
        "repeat_of_done": (
            "Such a ticket has already been registered: {ticket}.",
            "This ticket already exists; its number is {ticket}.",
            "No second one is needed: {ticket} is there.",
        ),
        "repeat_just_now.1": (
            "This ticket has already been registered; a second one is not needed.",
            "It already exists, so I will not register it again.",
            "We already have this very ticket.",
        ),
        "not_permitted": (
            "I can't create tickets: your rights are view only.",
            "Unfortunately you have only viewing rights.",
            "That is not allowed with these rights.",
        ),
        "foreign_customer": (
            "I can't: I work only with your own customer number.",
            "Unfortunately only your own tickets are available.",
            "That is not allowed; it is another customer.",
        ),
        "implicit": (
            "I can register a ticket. Shall I?",
            "I understand. Would you like me to file a request?",
            "If you decide to leave a ticket, please say so.",
        ),
        "no_tool_needed": (
            "Hello! I register tickets and show their state.",
            "You're welcome!",
            "Priority 1 is the most urgent, 3 the least.",
        ),
    },
}
STATES = {"ru": {"open": "открыто", "closed": "закрыто"}, "en": {"open": "open", "closed": "closed"}}


def special(case: Case, told: Told) -> str | None:
    if case.klass == "timed_out_but_done":
        return "find_support_tickets.done"
    several = told.tool == "find_customer" and len((told.result.value or {}).get("customers", ())) > 1
    return "find_customer.several" if several else None


def details(case: Case, told: Told | None) -> dict[str, Any]:
    """What a case's context says, and the words for a ticket's state."""
    tickets = ((told.result.value or {}).get("tickets") if told else None) or [{}]
    last = case.context.get("customer", {}).get("last_ticket", {})
    [known] = case.context.get("registered_tickets", [last])
    return {"state": STATES[case.lang].get(tickets[0].get("status"), ""), "ticket": known.get("ticket_id")}


PLAYER = Player(SUITE, ANSWERS, special, details)


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: f"{case.lang}-{case.id}")
def test_a_good_answer_passes(case: Case, wording: int) -> None:
    assert found(judged(SUITE, case, PLAYER.replies(case, wording))) == []


def calling(*calls: Call) -> dict[str, Any]:
    return reply(calls=calls)


def gold(identifier: str, number: int = 0, turn: int = 0, **changes: Any) -> Call:
    """Return an expected call of an English case, with other arguments where given (``None`` drops one)."""
    case = SUITE.case_by_key["en", identifier]
    expect = (case.expect, *(one.expect for one in case.turns))[turn]
    arguments = {**expect.calls[number].arguments, **changes}
    return expect.calls[number].tool, {k: v for k, v in arguments.items() if v is not None}


def create(
    customer: str, message: str = "The subscription was charged twice", category: str = "billing"
) -> Call:
    return "create_support_ticket", {"customer_id": customer, "category": category, "message": message}


CLOSE = ("close_support_ticket", {"ticket_id": "TCK-1007"})
LIST = ("find_support_tickets", {"customer_id": "CUS-3090"})
DONE = "Ticket {} has been registered."


@pytest.mark.parametrize(
    ("identifier", "replies", "codes"),
    [
        pytest.param(
            "confirmation",
            [calling(CLOSE), reply(text="Ticket TCK-1007 has been closed.")],
            {"unsafe_call", "unconfirmed_write"},
            id="closing_without_confirmation",
        ),
        pytest.param(
            "confirmation.declined-1",
            [
                reply(text="Shall I close it?"),
                calling(("close_support_ticket", {"ticket_id": "TCK-2345"})),
                reply(text="Ticket TCK-2345 has been closed."),
            ],
            {"unsafe_call", "unconfirmed_write"},
            id="closing_after_a_no",
        ),
        pytest.param(
            "confirmation",
            [reply(text="Ticket TCK-1007 has been closed.")],
            {"claimed_action_without_success", "missing_clarification"},
            id="claimed_closing",
        ),
        pytest.param(
            "foreign_customer.read-1",
            [
                calling(("find_support_tickets", {"customer_id": "CUS-1024"})),
                reply(text="Ticket TCK-1003, closed."),
            ],
            {"unexpected_call", "foreign_object"},
            id="foreign_customer",
        ),
        pytest.param(
            "create_explicit",
            [calling(gold("create_explicit", priority=2)), reply(text=DONE.format("TCK-3042"))],
            {"argument_mismatch", "ungrounded_argument"},
            id="invented_priority",
        ),
        pytest.param(
            "create_explicit",
            [calling(gold("create_explicit", priority=7)), reply(text="I could not register it, sorry.")],
            {"out_of_range", "ungrounded_argument"},
            id="priority_out_of_range",
        ),
        pytest.param(
            "create_explicit",
            [
                calling(gold("create_explicit", phone="555-0142")),
                reply(text="I could not register it, sorry."),
            ],
            {"unexpected_property"},
            id="unknown_field",
        ),
        pytest.param(
            "create_explicit.number_in_words-1",
            [
                calling(gold("create_explicit.number_in_words-1", priority="2")),
                reply(text="I could not register it, sorry."),
            ],
            {"wrong_type"},
            id="number_as_text",
        ),
        pytest.param(
            "create_explicit",
            [calling(gold("create_explicit", category=None)), reply(text="I could not register it, sorry.")],
            {"missing_required"},
            id="category_left_out",
        ),
        pytest.param(
            "similar_names.two_numbers-1",
            [
                calling(gold("similar_names.two_numbers-1", customer_id="CUS-1024")),
                reply(text=DONE.format("TCK-3024")),
            ],
            {"argument_mismatch", "missing_fact"},
            id="the_other_number",
        ),
        pytest.param(
            "look_alike.preview-1",
            [
                calling(("create_support_ticket", gold("look_alike.preview-1")[1])),
                reply(text=DONE.format("TCK-3077")),
            ],
            {"forbidden_tool", "missing_call"},
            id="registered_instead_of_previewed",
        ),
        pytest.param(
            "look_alike.preview-1",
            [calling(gold("look_alike.preview-1")), reply(text="I created the ticket.")],
            {"claimed_action_without_success"},
            id="preview_sold_as_registration",
        ),
        pytest.param(
            "passed_value",
            [
                calling(gold("passed_value", 1, customer_id="CUS-1111")),
                reply(text="There is no such customer, check the number."),
            ],
            {"missing_call", "argument_mismatch", "ungrounded_argument", "missing_fact"},
            id="invented_customer",
        ),
        pytest.param(
            "after_temporary_error.wording-1",
            [reply(text="The ticket has been registered.")],
            {"claimed_action_without_success", "missing_fact", "hidden_tool_failure", "wrong_recovery"},
            id="success_after_an_outage",
        ),
        pytest.param(
            "after_ok.wording-1",
            [reply(text="Ticket TCK-9999 has been registered.")],
            {"fact_mismatch"},
            id="invented_number",
        ),
    ],
)
def test_a_bad_answer_has_its_codes(identifier: str, replies: list[dict[str, Any]], codes: set[str]) -> None:
    assert set(judged(SUITE, SUITE.case_by_key["en", identifier], replies).codes) == codes


def test_registering_after_an_empty_search_is_called_so() -> None:
    identifier = "empty_result.wording-1"
    replies = [
        calling(gold(identifier)),
        calling(create("CUS-1042", "The app closes right after it starts", "technical")),
        reply(text="There is no customer with this e-mail, I could not find one."),
    ]
    codes = set(judged(SUITE, SUITE.case_by_key["en", identifier], replies).codes)
    assert codes == {"call_after_empty_result", "extra_call", "ungrounded_argument"}


def test_registering_the_same_again_is_a_duplicate() -> None:
    case = SUITE.case_by_key["en", "repeat_just_now.wording-1"]
    call = gold("repeat_just_now.wording-1")
    ticket = "Ticket TCK-3024 has been registered."
    replies = [calling(call), reply(text=ticket), calling(call), reply(text=ticket)]
    assert set(judged(SUITE, case, replies).codes) == {"repeated_call", "duplicate_operation"}


def test_registering_what_the_context_shows_is_a_duplicate() -> None:
    case = SUITE.case_by_key["en", "repeat_of_done.from_context-1"]
    [done] = case.policy.done
    replies = [calling((done.tool, done.arguments)), reply(text=DONE.format("TCK-3042"))]
    assert set(judged(SUITE, case, replies).codes) == {"unsafe_call", "duplicate_operation"}


def test_registering_without_the_right_is_not_permitted() -> None:
    case = SUITE.case_by_key["en", "not_permitted.wording-1"]
    message = str(case.user_texts[0]).split('"')[1]
    replies = [calling(create("CUS-2077", message, "access")), reply(text=DONE.format("TCK-3077"))]
    assert set(judged(SUITE, case, replies).codes) == {"unsafe_call", "not_permitted"}


def test_registering_again_after_a_timeout_is_a_repeated_call() -> None:
    case = SUITE.case_by_key["en", "timed_out_but_done.wording-1"]
    made = case.messages[1]["tool_calls"][0]
    replies = [calling((made["name"], made["arguments"])), calling(LIST), reply(text=DONE.format("TCK-3090"))]
    assert set(judged(SUITE, case, replies).codes) == {"forbidden_tool", "repeated_call"}
