set -e
cd /app/recipes
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@mail.example GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@mail.example
commit() {
  export GIT_AUTHOR_DATE="2025-01-0$1T12:00:00Z" GIT_COMMITTER_DATE="2025-01-0$1T12:00:00Z"
  git add . && git commit -q -m "$2"
}
git -c init.defaultBranch=main init -q
commit 1 "Add bread"
echo "yeast 4" >> bread.txt; commit 2 "Add yeast to the bread"
printf 'milk 250\neggs 3\n' > pancakes.txt; commit 3 "Add pancakes"
sed -i s/250/300/ pancakes.txt; commit 4 "Add more milk"
printf 'lentils 200\ncarrots 2\n' > soup.txt; commit 5 "Add soup"
git reset -q --hard HEAD~3
