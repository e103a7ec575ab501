// Keys for lists, page changes without a load, and new turns as they begin. Every
// form and link works without this file.
'use strict';

(() => {
  const root = document.documentElement;
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  root.classList.add('js');

  // Actions run one after the other: a key that is pressed while the last decision
  // is on its way acts on the page that comes back.
  let work = Promise.resolve();
  const then = (action) => { work = work.then(action).catch((error) => say(error.message)); };

  const pick = '.judge [name="intent"], .judge [name="label"]:not([type="hidden"])';
  const cards = () => $$('.card');
  const current = () => document.activeElement?.closest('.card') ?? null;
  const picked = () => $$('.pick input:checked');

  function say(text) {
    const box = document.createElement('div');
    const line = document.createElement('p');
    box.className = 'notice';
    line.className = 'problem';
    line.textContent = text;
    box.append(line);
    $('#notice').replaceChildren(box);
  }

  function look(card) {
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: card.offsetHeight > innerHeight * 0.6 ? 'start' : 'center' });
  }

  function move(step) {
    const all = cards();
    const at = all.indexOf(current());
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step];
    if (next) look(next);
  }

  // use shows a page in place of the present one.
  function use(html, address) {
    const page = new DOMParser().parseFromString(html, 'text/html');
    for (const part of ['.top', '#main']) $(part).replaceWith(document.adoptNode($(part, page))); // links may be relative
    $('#notice').replaceChildren(...$('#notice', page).childNodes);
    document.title = page.title;
    const url = new URL(address);
    for (const name of ['did', 'done', 'not', 'at']) url.searchParams.delete(name);
    history.replaceState(null, '', url);
    settle();
    if (document.activeElement === document.body) $('#main').focus({ preventScroll: true });
  }

  // settle looks at the experience that the page names, and ends the offer to undo
  // when its time is over.
  let offer;
  function settle() {
    const review = $('.review');
    const at = review?.dataset.at;
    const card = at && document.getElementById('e-' + at);
    if (card) look(card);
    clearTimeout(offer);
    if ($('.undo')) offer = setTimeout(() => $('.undo')?.remove(), 60_000);
    count();
  }

  function count() {
    const label = $('.count');
    if (label) label.textContent = picked().length + ' selected';
  }

  // complete takes the beginning of an intent for the first one that begins so.
  function complete(field) {
    const said = field?.list && field.value.trim().toUpperCase();
    const first = said && [...field.list.options].find((option) => option.value.toUpperCase().startsWith(said));
    if (first) field.value = first.value;
  }

  async function send(form, button) {
    complete(form.elements.intent ?? form.elements.label);
    const body = new URLSearchParams(new FormData(form, button));
    const response = await fetch(form.getAttribute('action'), { method: 'POST', body });
    const text = await response.text();
    if (response.status === 401) return location.reload();
    if (!response.headers.get('Content-Type')?.startsWith('text/html')) throw new Error(text);
    use(text, response.url);
  }

  function press(...names) {
    for (const name of names) {
      const all = picked().length > 0 && $(`.bulk [value="${name}"]`);
      const button = all || $(`button[name="${name}"]`, current() ?? document.createElement('p'));
      if (!button) continue;
      return button.formNoValidate || button.form.reportValidity() ? send(button.form, button) : undefined;
    }
  }

  // choose goes to the field for the right intent.
  function choose() {
    const field = $(pick, current() ?? document.createElement('p'));
    field?.closest('.card').classList.add('chosen'); // its details show
    field?.focus();
  }

  function undo() {
    const button = $('[name="undo"]', current() ?? document.createElement('p')) ?? $('.undo button');
    return button ? send(button.form, button) : undefined;
  }

  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (!form.matches('.review, .undo, .judge')) return;
    event.preventDefault();
    const button = event.submitter;
    then(() => (form.isConnected ? send(form, button) : undefined));
  });

  document.addEventListener('change', count);

  document.addEventListener('click', (event) => {
    if (event.target.closest('[data-help]')) $('#help').showModal();
  });

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    a: () => press('approve'),
    r: () => press('reject', 'right'),
    w: () => press('wrong', 'withdraw'),
    i: choose,
    u: undo,
    x: () => { const box = current() && $('.pick input', current()); if (box) { box.checked = !box.checked; count(); } },
    '/': () => { const box = $('[role="search"] [aria-keyshortcuts="/"]'); box?.focus(); box?.select(); },
    '?': () => $('#help')?.showModal(),
    Escape: () => { for (const box of picked()) box.checked = false; count(); },
  };

  document.addEventListener('keydown', (event) => {
    const field = event.target.closest?.('input:not([type="checkbox"]), textarea, select');
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || $('dialog[open]')) return;
    if (field) {
      const card = field.closest('.card');
      if (event.key === 'Escape') { field.blur(); card ? look(card) : move(1); }
      if (event.key === 'Enter' && field.matches(pick)) { event.preventDefault(); look(card); then(() => press('wrong')); }
      return;
    }
    const key = { ArrowDown: 'j', ArrowUp: 'k' }[event.key];
    const action = keys[key && $('.feed .card') ? key : event.key];
    if (event.key === 'Enter' && document.activeElement.matches('.card')) return $('a.open', current())?.click();
    if (!action || !$('.card, [role="search"]')) return;
    event.preventDefault();
    if (!event.repeat || action === keys.j || action === keys.k) then(action);
  });

  // The parts of the overview follow what happens, while somebody looks at it.
  const fresh = $('[data-refresh]');
  if (fresh) {
    setInterval(async () => {
      const parts = $('[data-refresh]');
      if (document.hidden || parts.contains(document.activeElement)) return;
      try {
        const response = await fetch(location.pathname + '?parts');
        if (!response.ok) return;
        const page = new DOMParser().parseFromString(await response.text(), 'text/html');
        const now = $('[data-refresh]', page);
        const tabs = $('.top nav');
        if (!tabs.contains(document.activeElement)) tabs.replaceWith(document.adoptNode($('.top nav', page)));
        if (now && now.innerHTML !== parts.innerHTML) parts.replaceWith(document.adoptNode(now));
      } catch { /* the next one may come through */ }
    }, Number(fresh.dataset.refresh));
  }

  // New turns come as server-sent events, rows made by the server.
  const feed = $('[data-live]');
  const rows = 100;
  let live;
  let last = '';

  function add(html) {
    const box = document.createElement('template');
    box.innerHTML = html;
    const row = box.content.firstElementChild;
    const known = document.getElementById(row.id);
    if (known && ($('.intent', known) || !$('.intent', row))) return;
    const said = known && $('.mark', known);
    if (said && !$('.mark', row)) $('.verdict', row).append(' ', said);
    known?.remove();
    row.classList.add('fresh');
    const older = [...feed.children].find((other) => Number(other.dataset.began) <= Number(row.dataset.began));
    feed.insertBefore(row, older ?? null);
    while (feed.children.length > rows) feed.lastElementChild.remove();
    $('.nothing')?.remove();
  }

  // mark shows what somebody said of a turn elsewhere. The latest counts; the times
  // are of one form, so that they compare as texts.
  function mark(html) {
    const box = document.createElement('template');
    box.innerHTML = html;
    const row = document.getElementById(box.content.firstElementChild.dataset.row);
    const said = $('.mark', box.content);
    const known = row && $('.mark', row);
    if (!row || (known && known.dataset.at >= said.dataset.at)) return;
    known?.remove();
    $('.verdict', row).append(' ', said);
  }

  function tell(state) { $('#live').textContent = state; }

  // A page that nobody sees gives its connection to others: browsers have few.
  function leave() { live?.close(); live = undefined; }

  function join() {
    if (live || document.hidden) return;
    live = new EventSource(feed.dataset.live + (last && '&after=' + last));
    live.addEventListener('open', () => tell('live'));
    live.addEventListener('turn', (event) => { last = event.lastEventId; add(event.data); });
    live.addEventListener('mark', (event) => mark(event.data));
    live.addEventListener('reload', () => { leave(); setTimeout(() => location.reload(), 5000); });
    live.addEventListener('error', () => {
      tell('not live at present');
      if (live?.readyState === EventSource.CLOSED) { leave(); setTimeout(join, 30_000); }
    });
  }

  if (feed) {
    document.addEventListener('visibilitychange', () => (document.hidden ? leave() : join()));
    addEventListener('pagehide', leave);
    addEventListener('pageshow', join);
    join();
  }

  settle();
})();
