//! Text to tree, by precedence climbing.

use std::iter::Peekable;
use std::vec::IntoIter;

use anyhow::Result;

use super::function::FUNCTIONS;
use super::{Function, NamedArgument, Node, Operator, OptionValue};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};

/// Parentheses and calls may stand within one another this deep.
const DEEPEST: usize = 64;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Mark(char),
    End,
}

struct Parser {
    tokens: Peekable<IntoIter<(Token, usize)>>,
    end: usize,
    depth: usize,
}

pub(super) fn parse(text: &str) -> Result<Node> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), end: text.chars().count() + 1, depth: 0 };
    let root = parser.sum()?;
    match parser.next() {
        (Token::End, _) => Ok(root),
        (token, at) => bail!(
            "第 {at} 字的 {}：此处应为运算符（+ - * /）或结尾",
            "{} at character {at}: expected an operator (+ - * /) or the end",
            token.shown()
        ),
    }
}

fn tokens(text: &str) -> Result<Vec<(Token, usize)>> {
    let signs: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < signs.len() {
        let (sign, at) = (signs[i], i + 1);
        let run = |from: usize, fits: fn(char) -> bool| signs[from..].iter().take_while(|c| fits(**c)).count();
        if sign.is_whitespace() {
            i += 1;
        } else if sign.is_ascii_digit() || (sign == '.' && signs.get(i + 1).is_some_and(char::is_ascii_digit)) {
            let mut n = run(i, |c| c.is_ascii_digit() || c == '.');
            if signs.get(i + n).is_some_and(|c| matches!(c, 'e' | 'E')) {
                let sign = usize::from(signs.get(i + n + 1).is_some_and(|c| matches!(c, '+' | '-')));
                let digits = run((i + n + 1 + sign).min(signs.len()), |c| c.is_ascii_digit());
                n += if digits > 0 { 1 + sign + digits } else { 0 };
            }
            let written: String = signs[i..i + n].iter().collect();
            let Ok(number) = written.parse() else {
                bail!("第 {at} 字的 {written:?} 不是数字", "{written:?} at character {at} is no number")
            };
            tokens.push((Token::Number(number), at));
            i += n;
        } else if sign.is_alphabetic() || sign == '_' {
            let n = run(i, |c| c.is_alphanumeric() || c == '_');
            tokens.push((Token::Name(signs[i..i + n].iter().collect()), at));
            i += n;
        } else if sign == '"' {
            let n = run(i + 1, |c| c != '"');
            ensure!(
                i + 1 + n < signs.len(),
                "始于第 {at} 字的名称缺少右引号",
                "the name that begins at character {at} lacks its closing quote"
            );
            ensure!(n > 0, "第 {at} 字的名称为空", "the name at character {at} is empty");
            tokens.push((Token::Name(signs[i + 1..i + 1 + n].iter().collect()), at));
            i += n + 2;
        } else if "+-*/(),.=".contains(sign) {
            tokens.push((Token::Mark(sign), at));
            i += 1;
        } else {
            bail!(
                "第 {at} 字的 {sign:?} 在此没有意义；名称含字母、数字和 _ 以外的符号时须加引号",
                "{sign:?} at character {at} means nothing here; names with signs other than letters, digits and _ are quoted"
            );
        }
    }
    Ok(tokens)
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Token::Number(number) => format!("{number}"),
            Token::Name(name) => format!("{name:?}"),
            Token::Mark(mark) => format!("{:?}", mark.to_string()),
            Token::End => Word("结尾", "the end").to_string(),
        }
    }
}

impl Parser {
    fn peek(&mut self) -> Token {
        self.tokens.peek().map_or(Token::End, |(token, _)| token.clone())
    }

    fn next(&mut self) -> (Token, usize) {
        self.tokens.next().unwrap_or((Token::End, self.end))
    }

    fn takes(&mut self, mark: char) -> bool {
        self.tokens.next_if(|(token, _)| *token == Token::Mark(mark)).is_some()
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        match self.next() {
            (Token::Mark(found), _) if found == mark => Ok(()),
            (token, at) => {
                bail!("第 {at} 字的 {}：此处应为 {mark:?}", "{} at character {at}: expected {mark:?}", token.shown())
            }
        }
    }

    fn sum(&mut self) -> Result<Node> {
        self.depth += 1;
        ensure!(
            self.depth <= DEEPEST,
            "嵌套超过 {DEEPEST} 层：请拆成几个因子",
            "it is nested more than {DEEPEST} deep: split it into several factors"
        );
        let operators = [('+', Operator::Plus), ('-', Operator::Minus)];
        let node = self.chain(&operators, Parser::product)?;
        self.depth -= 1;
        Ok(node)
    }

    fn product(&mut self) -> Result<Node> {
        self.chain(&[('*', Operator::Times), ('/', Operator::Over)], Parser::signed)
    }

    fn chain(&mut self, operators: &[(char, Operator)], part: fn(&mut Parser) -> Result<Node>) -> Result<Node> {
        let mut left = part(self)?;
        loop {
            let token = self.peek();
            let Some((_, op)) = operators.iter().find(|(mark, _)| token == Token::Mark(*mark)) else {
                return Ok(left);
            };
            let (_, at) = self.next();
            let right = part(self)?;
            left = Node::Binary { op: *op, left: Box::new(left), right: Box::new(right), at };
        }
    }

    fn signed(&mut self) -> Result<Node> {
        let mut negative = false;
        while self.peek() == Token::Mark('-') {
            self.next();
            negative = !negative;
        }
        let node = self.atom()?;
        Ok(match (negative, node) {
            (false, node) => node,
            (true, Node::Number(number)) => Node::Number(-number),
            (true, node) => Node::Negative(Box::new(node)),
        })
    }

    fn atom(&mut self) -> Result<Node> {
        match self.next() {
            (Token::Number(number), _) => Ok(Node::Number(number)),
            (Token::Mark('('), _) => {
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            (Token::Name(name), at) if self.peek() == Token::Mark('(') => self.call(&name, at),
            (Token::Name(room), at) => {
                let column = if self.takes('.') { Some(self.column()?) } else { None };
                Ok(Node::Name { room, column, at })
            }
            (token, at) => bail!(
                "第 {at} 字的 {}：此处应为数字、名称或括号",
                "{} at character {at}: expected a number, a name or a bracket",
                token.shown()
            ),
        }
    }

    fn column(&mut self) -> Result<String> {
        match self.next() {
            (Token::Name(name), _) => Ok(name),
            (token, at) => bail!(
                "第 {at} 字的 {}：点之后应为列名",
                "{} at character {at}: expected the name of a column after the point",
                token.shown()
            ),
        }
    }

    fn call(&mut self, name: &str, at: usize) -> Result<Node> {
        let Some(function) = Function::named(name) else {
            let nearest = FUNCTIONS
                .iter()
                .map(|(known, ..)| *known)
                .max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)));
            let known: Vec<&str> = FUNCTIONS.iter().map(|(known, ..)| *known).collect();
            bail!(
                "没有函数 {name:?}（第 {at} 字）；是不是 {:?}？可用：{}",
                "there is no function {name:?} (at character {at}); did you mean {:?}? there are: {}",
                nearest.unwrap_or_default(),
                known.join(" ")
            );
        };
        self.expect('(')?;
        let (mut arguments, mut options) = (Vec::new(), Vec::new());
        while !self.takes(')') {
            if !(arguments.is_empty() && options.is_empty()) {
                self.expect(',')?;
            }
            match self.option()? {
                Some(option) => options.push(option),
                None => {
                    ensure!(
                        options.is_empty(),
                        "第 {at} 字的 {name}：位置参数须在命名参数之前：{}",
                        "{name} at character {at}: positional arguments precede named ones: {}",
                        function.usage()
                    );
                    arguments.push(self.sum()?);
                }
            }
        }
        Ok(Node::Call { function, arguments, options, at })
    }

    /// `name = value`, where that is what comes next.
    fn option(&mut self) -> Result<Option<NamedArgument>> {
        let mut ahead = self.tokens.clone();
        let (Some((Token::Name(name), at)), Some((Token::Mark('='), _))) = (ahead.next(), ahead.next()) else {
            return Ok(None);
        };
        self.tokens = ahead;
        let value = match name.as_str() {
            "weight" => OptionValue::Expression(self.sum()?),
            _ => match self.next() {
                (Token::Number(number), _) => OptionValue::Number(number),
                (Token::Name(word), _) => {
                    let mut words = vec![word];
                    while self.takes('+') {
                        words.push(self.column()?);
                    }
                    OptionValue::Words(words)
                }
                (token, at) => bail!(
                    "第 {at} 字的 {}：此处应为 {name} 的值",
                    "{} at character {at}: expected the value of {name}",
                    token.shown()
                ),
            },
        };
        Ok(Some(NamedArgument { name, value, at }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(node: &Node) -> String {
        match node {
            Node::Number(number) => number.to_string(),
            Node::Name { room, column, .. } => column.as_ref().map_or(room.clone(), |c| format!("{room}.{c}")),
            Node::Negative(inner) => format!("(-{})", written(inner)),
            Node::Binary { op, left, right, .. } => format!("({} {op:?} {})", written(left), written(right)),
            Node::Call { function, arguments, options, .. } => {
                let arguments: Vec<String> = arguments.iter().map(written).collect();
                format!("{function:?}({}; {} options)", arguments.join(", "), options.len())
            }
        }
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        let tree = |text: &str| written(&parse(text).unwrap());
        assert_eq!(tree("a + b * c - d / 2"), "((a Plus (b Times c)) Minus (d Over 2))");
        assert_eq!(tree("-(a - -b) * 1e-3"), "((-(a Minus (-b))) Times 0.001)");
        assert_eq!(tree("a - b - c"), "((a Minus b) Minus c)");
        assert_eq!(tree("rank(语调.正面)"), "Rank(语调.正面; 0 options)");
    }

    #[test]
    fn calls_take_arguments_then_options() {
        let Node::Call { arguments, options, .. } =
            parse("mean(x, days = 20, decay = linear, kinds = news + report, weight = document.novelty * 2)").unwrap()
        else {
            panic!("a call");
        };
        assert_eq!(arguments.len(), 1);
        assert_eq!(options[0].value, OptionValue::Number(20.0));
        assert_eq!(options[2].value, OptionValue::Words(vec!["news".into(), "report".into()]));
        assert!(matches!(options[3].value, OptionValue::Expression(Node::Binary { .. })));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert!(error("a + ").contains("the end at character 5"), "{}", error("a + "));
        assert!(error("a b").contains("\"b\" at character 3"));
        assert!(error("meen(a)").contains("did you mean \"mean\""));
        assert!(error("tone-α%").contains("'%' at character 7"), "{}", error("tone-α%"));
        assert!(error("\"tone").contains("closing quote"));
        assert!(error("mean(days = 3, a)").contains("positional arguments precede named ones"));
        assert!(error("1.2.3").contains("is no number"));
        assert!(error(&"(".repeat(70)).contains("nested more than 64 deep"));
    }
}
