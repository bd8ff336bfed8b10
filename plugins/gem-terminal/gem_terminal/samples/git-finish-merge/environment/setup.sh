set -e
cd /app/shop
git -c init.defaultBranch=main init -q
git config user.name Ada
git config user.email ada@mail.example
git add . && git commit -q -m "Add prices"
git checkout -q -b discount
printf '"""Prices of the shop."""\n\n\ndef price(amount, discount=0):\n    return round(amount * (100 - discount) / 100, 2)\n' > prices.py
echo "Discounts are percentages." > NOTES.txt
git add . && git commit -q -m "Add discounts"
git checkout -q main
printf '"""Prices of the shop."""\n\nTAX = 20\n\n\ndef price(amount):\n    return round(amount * (100 + TAX) / 100, 2)\n' > prices.py
git add . && git commit -q -m "Add tax"
git merge discount || true
